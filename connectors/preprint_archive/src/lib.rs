//! Preprints of arXiv.
