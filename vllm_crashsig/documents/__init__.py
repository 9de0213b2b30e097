"""Documents about containers (`docker inspect`, `kubectl describe pod`) -> which container each line is about, and when.

Found out by their content. Everything else that is known of them is in fingerprints, line by line as in any log.
"""

from .kinds import BESIDE, LAYERS, MAX_DOCUMENT, document_kind

__all__ = ["BESIDE", "LAYERS", "MAX_DOCUMENT", "document_kind"]
