//! Each rival that was built passes what our own indexes pass. One that was not is named, and why.

#[cfg(any(feature = "lmdb", feature = "redb", feature = "rocksdb", feature = "wiredtiger"))]
mod suite;

macro_rules! rivals {
    ($($name:ident: $store:ident, $feature:literal;)*) => {$(
        #[cfg(feature = $feature)]
        mod $name {
            use assay_rivals::$name::$store as Store;

            use crate::suite;

            #[test]
            fn it_is_a_map_across_lives() {
                (1..3).for_each(suite::it_is_a_map_across_lives::<Store>);
            }

            #[test]
            fn threads_race_and_one_wins() {
                suite::threads_race_and_one_wins::<Store>();
            }

            #[test]
            fn what_cannot_be_is_refused() {
                suite::what_cannot_be_is_refused::<Store>();
            }

            #[test]
            fn the_runner_finds_nothing_wrong() {
                suite::the_runner_finds_nothing_wrong::<Store>();
            }

            #[test]
            fn what_was_acknowledged_is_found_and_elsewhere_missed() {
                suite::what_was_acknowledged_is_found_and_elsewhere_missed::<Store>();
            }

            #[test]
            fn tpcc_holds_its_conditions() {
                suite::tpcc_holds_its_conditions::<Store>();
            }
        }

        #[cfg(not(feature = $feature))]
        mod $name {
            #[test]
            #[ignore = "it was not built: add its feature, or `assay rivals build` it"]
            fn it_was_not_built() {}
        }
    )*};
}

rivals! {
    lmdb: LmdbStore, "lmdb";
    redb: RedbStore, "redb";
    rocksdb: RocksdbStore, "rocksdb";
    wiredtiger: WiredtigerStore, "wiredtiger";
}
