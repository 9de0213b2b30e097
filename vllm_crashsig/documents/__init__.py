"""Documents about containers (`docker inspect`, `kubectl describe pod`) -> which container each line is about, and when.

Found out by their content. Everything else that is known of them is in fingerprints, line by line as in any log.
"""

from .about import BESIDE
from .describe import read_date
from .kinds import LAYERS, MAX_DOCUMENT, Document, document_kind, read_document

__all__ = ["BESIDE", "LAYERS", "MAX_DOCUMENT", "Document", "document_kind", "read_date", "read_document"]
