// Trains liblinear-ranksvm on arrays, so that its time holds no reading of files.
#include <chrono>
#include <vector>

#include "linear.h"
#include "ranksvm.h"
#include "tron.h"

static void print_nothing(const char *) {}

// Seconds of one training, which starts from w = 0. All rows are one query.
extern "C" double train_on_arrays(int l, int n, const int *indptr, const int *indices,
                                  const double *data, double *y, double C, double eps, double *w)
{
    std::vector<feature_node> nodes;
    std::vector<size_t> first;
    for (int i = 0; i < l; i++) {
        first.push_back(nodes.size());
        for (int k = indptr[i]; k < indptr[i + 1]; k++)
            nodes.push_back({indices[k] + 1, data[k]});
        nodes.push_back({-1, 0.0});
    }
    std::vector<feature_node *> rows;
    for (size_t place : first)
        rows.push_back(&nodes[place]);
    std::vector<int> query(l, 0);
    problem told = problem();
    told.l = l;
    told.n = n;
    told.y = y;
    told.x = rows.data();
    told.query = query.data();
    told.bias = -1;

    auto begin = std::chrono::steady_clock::now();
    l2r_l2_ranksvm_fun objective(&told, C);
    TRON solver(&objective, eps);
    solver.set_print_string(print_nothing);
    for (int j = 0; j < n; j++)
        w[j] = 0.0;
    solver.tron(w);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}
