//! TPC-C's store in SQL, for PostgreSQL and SQLite.
