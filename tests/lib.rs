//! Tests of the whole live in the targets beside this file: see `README.md` here.
