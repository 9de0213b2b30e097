"""The verbs that are not in `vllm_crashsig.cli` itself, and what all verbs share."""
