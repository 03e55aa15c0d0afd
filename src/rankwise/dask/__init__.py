"""The same learners on a Dask cluster: data in partitions, answers as on one machine.

    from distributed import Client
    from rankwise.dask import RankRLS

    client = Client("tcp://scheduler:8786")
    model = RankRLS(alpha=1.0).fit(X, y, qid=qid)      # Dask arrays, frames or delayed partitions

Work goes to the current `distributed.Client`, with its security settings. If there is none, it goes
to Dask's own scheduler. Only `local_cluster` listens for connections, on loopback.
"""

try:
    __import__("dask.dataframe")
    __import__("distributed")
except ImportError as error:
    raise ImportError(
        f"rankwise.dask needs Dask ({error}): install it with pip install 'rankwise[dask]'."
    ) from error

from rankwise.dask.cluster import local_cluster
from rankwise.dask.lazy_readers import read_letor, read_table
from rankwise.dask.query_partitioning import partition_by_query
from rankwise.dask.rank_rls import RankRLS
from rankwise.dask.rank_svm import RankSVM
from rankwise.exceptions import ClusterLost, SplitQuery

__all__ = [
    "ClusterLost",
    "RankRLS",
    "RankSVM",
    "SplitQuery",
    "local_cluster",
    "partition_by_query",
    "read_letor",
    "read_table",
]
