"""Wang, Zhang and Kitsuregawa: BatchSearch on an R-tree, with a level that adapts itself (`rtree`)."""
