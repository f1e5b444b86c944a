//! TPC-C: five transactions over a store, their driver and their checks. It knows no database.
