/* Kernels of small searches, node by node: the steps of bounds/trees/simplex_bound.py and of search/ascent.py.

   What is computed, and why, stands there; NumPy is the reference, and tests hold every result here against it. A small
   batch costs NumPy some forty calls a step, and its arithmetic is over after a tenth of their time.

   Arrays are of doubles, in C order, the node first. Cells of one secret value are neighbours: those of value a are
   first[a] to first[a + 1] - 1. Every function returns 0, or -1 where there is no memory. */

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The least number that a logarithm or a division takes, as numerics/information.py has it. */
#define TINY 1e-300

/* Told apart from a library that an older state of this file was compiled to: numerics/compiled.py has the same number. */
int64_t dalenius_kernels(void) { return 4; }

/* Whether the processor has the wider vectors that a second library was compiled for. */
int64_t dalenius_wide(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return 0;
#endif
}

/* How large a problem is. */
typedef struct {
    int64_t cells, secrets, outputs;
    const int64_t *first;
} Shape;

static double larger(double a, double b) { return a > b ? a : b; }
static double smaller(double a, double b) { return a < b ? a : b; }
static double safe_log(double x) { return log(larger(x, TINY)); }

static double dot(int64_t n, const double *a, const double *b)
{
    double sum = 0;
    for (int64_t k = 0; k < n; k++) sum += a[k] * b[k];
    return sum;
}

static double log_sum_exp(int64_t n, const double *x)
{
    double peak = x[0], sum = 0;
    for (int64_t k = 1; k < n; k++) peak = larger(peak, x[k]);
    for (int64_t k = 0; k < n; k++) sum += exp(x[k] - peak);
    return peak + log(sum);
}

/* Solve a x = b with partial pivoting; x takes the place of b. Returns 1 where a is singular. */
static int solve(int64_t n, double *a, double *b)
{
    for (int64_t k = 0; k < n; k++) {
        int64_t pivot = k;
        for (int64_t i = k + 1; i < n; i++)
            if (fabs(a[i * n + k]) > fabs(a[pivot * n + k])) pivot = i;
        if (a[pivot * n + k] == 0) return 1;
        if (pivot != k) {
            for (int64_t j = k; j < n; j++) {
                double held = a[k * n + j];
                a[k * n + j] = a[pivot * n + j];
                a[pivot * n + j] = held;
            }
            double held = b[k];
            b[k] = b[pivot];
            b[pivot] = held;
        }
        for (int64_t i = k + 1; i < n; i++) {
            double factor = a[i * n + k] / a[k * n + k];
            if (factor == 0) continue;
            for (int64_t j = k + 1; j < n; j++) a[i * n + j] -= factor * a[k * n + j];
            b[i] -= factor * b[k];
        }
    }
    for (int64_t k = n - 1; k >= 0; k--) {
        for (int64_t j = k + 1; j < n; j++) b[k] -= a[k * n + j] * b[j];
        b[k] /= a[k * n + k];
    }
    return 0;
}

/* The settings of the interior-point method, in the order of numerics/compiled.py. */
typedef struct {
    double rounds, share, start_mu, start, first_centre, centre, short_centre, is_short, is_long, long_factor;
    double least_centre, most_centre, close, least_gap, largest_s, inside, ridge;
} Method;

/* One node: its simplices, its problem, where the method stands, and room for what a step computes. */
typedef struct {
    Shape of;
    const double *vertices, *laws, *f, *eta, *log_rho;
    double knowledge;
    /* the state: weights m, their multipliers mu, the multiplier s of D <= K, its slack, how much to centre */
    double *m, *mu, s, room, centre;
    /* pi (C), z and log u (A, Y), v and log v (Y), p (A), slopes and steps (C), the system (C + 1, C + 1) */
    double *pi, *log_pi, *tilt, *z, *log_u, *v, *log_v, *p, *share, *slope, *slope_d, *dm, *d_mu, *system, *kept;
} Node;

/* pi = sum_j m_j V_j, z(a, y) = sum_j m_j U_jy over the row's vertices, v and p its margins; kept above zero. */
static void priors(Node *x)
{
    int64_t C = x->of.cells, Y = x->of.outputs;
    memset(x->v, 0, Y * sizeof(double));
    for (int64_t a = 0; a < x->of.secrets; a++) {
        int64_t begin = x->of.first[a], end = x->of.first[a + 1];
        double *z = x->z + a * Y;
        memset(z, 0, Y * sizeof(double));
        for (int64_t c = begin; c < end; c++) x->pi[c] = 0;
        for (int64_t j = begin; j < end; j++) {
            for (int64_t c = begin; c < end; c++) x->pi[c] += x->m[j] * x->vertices[j * C + c];
            for (int64_t y = 0; y < Y; y++) z[y] += x->m[j] * x->laws[j * Y + y];
        }
        x->p[a] = 0;
        for (int64_t c = begin; c < end; c++) {
            x->pi[c] = larger(x->pi[c], TINY);
            x->log_pi[c] = log(x->pi[c]);
            x->tilt[c] = x->log_pi[c] - x->log_rho[c];
        }
        for (int64_t y = 0; y < Y; y++) {
            z[y] = larger(z[y], TINY);
            x->p[a] += z[y];
            x->v[y] += z[y];
        }
        for (int64_t y = 0; y < Y; y++) x->log_u[a * Y + y] = log(z[y]) - log(x->p[a]);
    }
    for (int64_t y = 0; y < Y; y++) x->log_v[y] = log(x->v[y]);
}

/* max_j [ F_j - e_a D(U_j || u_a) - <U_j, log r> - s <V_j, log pi/rho> ] + s K, log r and log pi as they are. */
static double bound_at(const Node *x, double s, const double *log_u, const double *log_r, const double *log_pi)
{
    int64_t C = x->of.cells, Y = x->of.outputs;
    double best = -INFINITY;
    for (int64_t a = 0; a < x->of.secrets; a++) {
        int64_t begin = x->of.first[a], end = x->of.first[a + 1];
        double share = smaller(1.0, s / larger(x->eta[a], TINY));
        for (int64_t j = begin; j < end; j++) {
            const double *law = x->laws + j * Y, *vertex = x->vertices + j * C;
            double value = x->f[j] - share * (x->f[j] - dot(Y, law, log_u + a * Y)) - dot(Y, law, log_r), prior = 0;
            for (int64_t c = begin; c < end; c++) prior += vertex[c] * (log_pi[c] - x->log_rho[c]);
            value -= s * prior;
            if (isnan(value)) return INFINITY;
            best = larger(best, value);
        }
    }
    double bound = best + s * x->knowledge;
    return isnan(bound) ? INFINITY : bound;
}

/* One step on the perturbed conditions of optimality; returns the value of the relaxation there, less s (D - K)+. */
static double newton(Node *x, const Method *by)
{
    int64_t C = x->of.cells, Y = x->of.outputs, N = C + 1;
    double divergence = 0, complementarity = x->s * x->room;
    for (int64_t a = 0; a < x->of.secrets; a++) {
        double share = by->share * smaller(1.0, x->s / larger(x->eta[a], TINY));
        int64_t begin = x->of.first[a], end = x->of.first[a + 1];
        x->share[a] = share;
        for (int64_t j = begin; j < end; j++) {
            const double *law = x->laws + j * Y;
            x->slope_d[j] = dot(end - begin, x->vertices + j * C + begin, x->tilt + begin) + 1;
            x->slope[j] = (1 - share) * x->f[j] + share * dot(Y, law, x->log_u + a * Y) - dot(Y, law, x->log_v);
        }
    }
    for (int64_t c = 0; c < C; c++) {
        divergence += x->pi[c] * x->tilt[c];
        complementarity += x->m[c] * x->mu[c];
    }
    double t = x->centre * complementarity / (double)N;
    double miss = x->knowledge - divergence - x->room, stiff = x->s / x->room;
    double *right = x->dm;
    for (int64_t a = 0; a < x->of.secrets; a++)
        for (int64_t i = x->of.first[a]; i < x->of.first[a + 1]; i++) {
            for (int64_t j = 0; j <= i; j++) {
                const double *one = x->laws + i * Y, *other = x->laws + j * Y, *z = x->z + a * Y;
                double entry = stiff * x->slope_d[i] * x->slope_d[j];
                if (j >= x->of.first[a]) {
                    double by_row = 0, by_prior = 0;
                    for (int64_t y = 0; y < Y; y++) {
                        double product = one[y] * other[y];
                        entry += product / x->v[y];
                        by_row += product / z[y];
                    }
                    for (int64_t c = x->of.first[a]; c < x->of.first[a + 1]; c++)
                        by_prior += x->vertices[i * C + c] * x->vertices[j * C + c] / x->pi[c];
                    entry += x->s * by_prior - x->share[a] * (by_row - 1 / x->p[a]);
                } else {
                    for (int64_t y = 0; y < Y; y++) entry += one[y] * other[y] / x->v[y];
                }
                entry *= x->m[i] * x->m[j];
                x->system[i * N + j] = x->system[j * N + i] = entry;
            }
            x->system[i * N + i] += x->m[i] * x->mu[i];
            x->system[i * N + C] = x->system[C * N + i] = x->m[i];
            right[i] = x->m[i] * (x->slope[i] + t / x->m[i] - (t / x->room - stiff * miss) * x->slope_d[i]);
        }
    x->system[N * N - 1] = 0;
    right[C] = 0;
    /* A singular system is made regular: a direction need not be accurate. */
    memcpy(x->kept, x->system, N * N * sizeof(double));
    memcpy(x->kept + N * N, right, N * sizeof(double));
    if (solve(N, x->system, right)) {
        double size = 0;
        for (int64_t k = 0; k < N * N; k++) size = larger(size, fabs(x->kept[k]));
        memcpy(x->system, x->kept, N * N * sizeof(double));
        memcpy(right, x->kept + N * N, N * sizeof(double));
        for (int64_t k = 0; k < N; k++) x->system[k * N + k] += by->ridge * (size + TINY);
        solve(N, x->system, right);
    }

    double d_room = miss, primal = 0, dual = 0;
    for (int64_t j = 0; j < C; j++) {
        x->dm[j] *= x->m[j];
        d_room -= x->slope_d[j] * x->dm[j];
        x->d_mu[j] = (t - x->mu[j] * x->dm[j]) / x->m[j] - x->mu[j];
        primal = larger(primal, -x->dm[j] / x->m[j]);
        dual = larger(dual, -x->d_mu[j] / x->mu[j]);
    }
    double ds = (t - x->s * d_room) / x->room - x->s;
    primal = smaller(1.0, by->inside / larger(larger(primal, -d_room / x->room), TINY));
    dual = smaller(1.0, by->inside / larger(larger(dual, -ds / x->s), TINY));
    for (int64_t j = 0; j < C; j++) {
        x->m[j] += primal * x->dm[j];
        x->mu[j] += dual * x->d_mu[j];
    }
    x->s += dual * ds;
    x->room += primal * d_room;
    double length = smaller(primal, dual);
    double centre = length < by->is_short ? by->short_centre : by->centre;
    if (length > by->is_long) centre = by->long_factor * x->centre;
    x->centre = smaller(larger(centre, by->least_centre), by->most_centre);

    /* sum_j (1-e_a) m_j F_j + sum_a e_a p_a F(u_a) + H(v), with the shares of before the step */
    priors(x);
    double value = 0;
    divergence = 0;
    for (int64_t a = 0; a < x->of.secrets; a++) {
        double by_row = 0;
        for (int64_t y = 0; y < Y; y++) by_row += x->z[a * Y + y] * x->log_u[a * Y + y];
        value += x->share[a] * by_row;
        for (int64_t j = x->of.first[a]; j < x->of.first[a + 1]; j++)
            value += (1 - x->share[a]) * x->m[j] * x->f[j];
    }
    for (int64_t y = 0; y < Y; y++) value -= x->v[y] * x->log_v[y];
    for (int64_t c = 0; c < C; c++) divergence += x->pi[c] * x->tilt[c];
    return value + x->s * smaller(x->knowledge - divergence, 0.0);
}

static int make_room(Node *x, Shape of)
{
    int64_t C = of.cells, A = of.secrets, Y = of.outputs, N = C + 1;
    double *at = malloc((8 * C + 3 * N + 2 * A * Y + 2 * Y + 2 * A + 2 * N * N) * sizeof(double));
    if (!at) return -1;
    x->of = of;
    x->pi = at, at += C;
    x->log_pi = at, at += C;
    x->tilt = at, at += C;
    x->slope = at, at += C;
    x->slope_d = at, at += C;
    x->d_mu = at, at += C;
    x->m = at, at += C;
    x->mu = at, at += C;
    x->z = at, at += A * Y;
    x->log_u = at, at += A * Y;
    x->v = at, at += Y;
    x->log_v = at, at += Y;
    x->p = at, at += A;
    x->share = at, at += A;
    x->dm = at, at += N;
    x->system = at, at += N * N;
    x->kept = at;
    return 0;
}

/* Solve the relaxation of every node: bounds, what proves them, and the weights m, which begin as given. */
int dalenius_simplices(
    int64_t nodes, int64_t cells, int64_t secrets, int64_t outputs, const int64_t *first, const double *vertices,
    const double *laws, const double *f, const double *eta, const double *log_rho, double knowledge, double target,
    const double *settings, double *m, double *bound, double *s, double *log_r, double *log_pi)
{
    Shape of = {cells, secrets, outputs, first};
    Method by;
    Node x;
    memcpy(&by, settings, sizeof by);
    if (make_room(&x, of)) return -1;
    x.eta = eta;
    x.log_rho = log_rho;
    x.knowledge = knowledge;
    for (int64_t k = 0; k < nodes; k++) {
        double *best_m = m + k * cells, sum = 0, best = INFINITY;
        x.vertices = vertices + k * cells * cells;
        x.laws = laws + k * cells * outputs;
        x.f = f + k * cells;
        for (int64_t j = 0; j < cells; j++) sum += best_m[j];
        for (int64_t j = 0; j < cells; j++) {
            x.m[j] = best_m[j] = best_m[j] / sum;
            x.mu[j] = by.start_mu / (x.m[j] * (double)cells);
        }
        x.s = x.room = by.start;
        x.centre = by.first_centre;
        s[k] = 0;
        memset(log_r + k * outputs, 0, outputs * sizeof(double));
        memset(log_pi + k * cells, 0, cells * sizeof(double));
        priors(&x);
        for (int64_t round = 0; round < (int64_t)by.rounds; round++) {
            double value = newton(&x, &by), found = INFINITY;
            /* Both laws add up to what m does: 1, but for rounding, which the logarithm of their sums takes out. */
            double total = 0;
            for (int64_t y = 0; y < outputs; y++) total += x.v[y];
            found = bound_at(&x, x.s, x.log_u, x.log_v, x.log_pi) + (1 + x.s) * log(total);
            if (found < best) {
                best = found;
                s[k] = x.s;
                memcpy(best_m, x.m, cells * sizeof(double));
                memcpy(log_r + k * outputs, x.log_v, outputs * sizeof(double));
                memcpy(log_pi + k * cells, x.log_pi, cells * sizeof(double));
            }
            double left = best - target;
            int near = best - value < larger(by.close * left, by.least_gap);
            if (left <= 0 || (isfinite(left) && near) || x.s > by.largest_s || isnan(x.s)) break;
        }
        bound[k] = best;
    }
    free(x.pi);
    return 0;
}

/* The settings of an ascent, in the order of numerics/compiled.py. */
typedef struct {
    double root, least, most, rounds, stride, leap;
} Climb;

/* Room for one start. */
typedef struct {
    Shape of;
    const double *q, *log_rho;
    double knowledge;
    double *c, *log_z, *log_p, *p, *mean, *variance, *z, *margin;
} Start;

/* The prior of multiplier s, its D(pi || rho), and d D / d log s. */
static void prior_at(Start *x, double s, double *pi, double *divergence, double *slope)
{
    double level, tilt_mean = 0;
    for (int64_t a = 0; a < x->of.secrets; a++) {
        int64_t begin = x->of.first[a], end = x->of.first[a + 1];
        double peak = -INFINITY, sum = 0, mean = 0, variance = 0;
        for (int64_t c = begin; c < end; c++) {
            pi[c] = x->c[c] / s + x->log_rho[c];
            peak = larger(peak, pi[c]);
        }
        for (int64_t c = begin; c < end; c++) {
            pi[c] = exp(pi[c] - peak);
            sum += pi[c];
        }
        x->log_z[a] = peak + log(sum);
        for (int64_t c = begin; c < end; c++) {
            pi[c] /= sum;
            mean += pi[c] * x->c[c];
        }
        for (int64_t c = begin; c < end; c++) variance += pi[c] * (x->c[c] - mean) * (x->c[c] - mean);
        x->mean[a] = mean;
        x->variance[a] = variance;
        x->log_p[a] = s * x->log_z[a] / (1 + s);
    }
    double total = log_sum_exp(x->of.secrets, x->log_p);
    for (int64_t a = 0; a < x->of.secrets; a++) {
        x->log_p[a] -= total;
        x->p[a] = exp(x->log_p[a]);
        tilt_mean += x->p[a] * (x->log_z[a] / ((1 + s) * (1 + s)) - x->mean[a] / (s * (1 + s)));
    }
    *divergence = *slope = 0;
    for (int64_t a = 0; a < x->of.secrets; a++) {
        double tilt = x->log_z[a] / ((1 + s) * (1 + s)) - x->mean[a] / (s * (1 + s)) - tilt_mean;
        level = x->log_p[a] + x->mean[a] / s - x->log_z[a];
        *divergence += x->p[a] * level;
        *slope += s * x->p[a] * (tilt * level - x->variance[a] / (s * s * s));
        for (int64_t c = x->of.first[a]; c < x->of.first[a + 1]; c++) pi[c] *= x->p[a];
    }
}

/* The best prior for a posterior, and its multiplier, which begins as given. */
static void prior_step(Start *x, const Climb *by, const double *log_v, double *s, double *pi)
{
    int64_t Y = x->of.outputs;
    for (int64_t a = 0; a < x->of.secrets; a++)
        for (int64_t c = x->of.first[a]; c < x->of.first[a + 1]; c++) x->c[c] = dot(Y, x->q + c * Y, log_v + a * Y);
    double low = log(by->least), high = log(by->most), divergence, slope;
    double t = log(smaller(larger(*s, by->least), by->most));
    for (int64_t round = 0; round < (int64_t)by->rounds; round++) {
        prior_at(x, exp(t), pi, &divergence, &slope);
        double excess = divergence - x->knowledge;
        if (excess > 0) low = t;
        else high = t;
        if (fabs(excess) <= by->root * x->knowledge || high - low < by->root) {
            *s = exp(t);
            return;
        }
        double new = t - log(larger(divergence, TINY) / larger(x->knowledge, TINY)) * divergence / slope;
        double walk = t + (excess > 0 ? by->stride : -by->stride);
        if (new > low && new < high) t = new;
        else if (high - low > 2 * by->stride) t = smaller(larger(walk, low), high);
        else t = (low + high) / 2;
    }
    *s = exp(t);
    prior_at(x, *s, pi, &divergence, &slope);
}

/* The posterior of a prior, log v(a|y), and I(A;Y). */
static double posterior(Start *x, const double *pi, double *log_v)
{
    int64_t Y = x->of.outputs, A = x->of.secrets;
    double leakage = 0;
    memset(x->z, 0, A * Y * sizeof(double));
    memset(x->margin, 0, Y * sizeof(double));
    for (int64_t a = 0; a < A; a++) {
        x->p[a] = 0;
        for (int64_t c = x->of.first[a]; c < x->of.first[a + 1]; c++)
            for (int64_t y = 0; y < Y; y++) x->z[a * Y + y] += pi[c] * x->q[c * Y + y];
        for (int64_t y = 0; y < Y; y++) {
            x->p[a] += x->z[a * Y + y];
            x->margin[y] += larger(x->z[a * Y + y], TINY);
        }
    }
    for (int64_t y = 0; y < Y; y++) x->margin[y] = log(x->margin[y]);
    for (int64_t a = 0; a < A; a++) {
        double log_p = safe_log(x->p[a]);
        for (int64_t y = 0; y < Y; y++) {
            double z = x->z[a * Y + y];
            log_v[a * Y + y] = safe_log(z) - x->margin[y];
            if (z > 0) leakage += z * (log_v[a * Y + y] - log_p);
        }
    }
    return larger(leakage, 0.0);
}

/* Two steps v0 -> v1 -> v2 of every start and, where it does not lower I, the extrapolation through them. */
int dalenius_two_steps(
    int64_t starts, int64_t cells, int64_t secrets, int64_t outputs, const int64_t *first, const double *q,
    const double *log_rho, double knowledge, const double *settings, double *log_v, double *s, double *pi, double *value)
{
    Shape of = {cells, secrets, outputs, first};
    int64_t size = secrets * outputs;
    Climb by;
    memcpy(&by, settings, sizeof by);
    double *room = malloc((2 * cells + 6 * secrets + 4 * size + outputs) * sizeof(double)), *at = room;
    if (!room) return -1;
    Start x = {.of = of, .q = q, .log_rho = log_rho, .knowledge = knowledge};
    double *v1, *v2, *leap, *other;
    x.c = at, at += cells;
    other = at, at += cells;
    x.log_z = at, at += secrets;
    x.log_p = at, at += secrets;
    x.p = at, at += secrets;
    x.mean = at, at += secrets;
    x.variance = at, at += secrets;
    x.z = at, at += size;
    v1 = at, at += size;
    v2 = at, at += size;
    leap = at, at += size;
    x.margin = at;
    for (int64_t k = 0; k < starts; k++) {
        double *v0 = log_v + k * size, *own = pi + k * cells, s_leap;
        prior_step(&x, &by, v0, s + k, own);
        posterior(&x, own, v1);
        prior_step(&x, &by, v1, s + k, own);
        value[k] = posterior(&x, own, v2);
        /* x0 + 2 t r + t^2 v,  r = x1 - x0,  v = x2 - 2 x1 + x0,  t = |r| / |v|; and log v <= 0 */
        double first_norm = 0, second_norm = 0;
        for (int64_t i = 0; i < size; i++) {
            double one = v1[i] - v0[i], two = v2[i] - 2 * v1[i] + v0[i];
            first_norm += one * one;
            second_norm += two * two;
        }
        double step = smaller(larger(sqrt(first_norm / larger(second_norm, TINY)), 1.0), by.leap);
        for (int64_t i = 0; i < size; i++) {
            double far = v0[i] + 2 * step * (v1[i] - v0[i]) + step * step * (v2[i] - 2 * v1[i] + v0[i]);
            leap[i] = smaller(far, 0.0);
        }
        s_leap = s[k];
        prior_step(&x, &by, leap, &s_leap, other);
        double value_leap = posterior(&x, other, v1);
        if (value_leap > value[k]) {
            value[k] = value_leap;
            s[k] = s_leap;
            memcpy(own, other, cells * sizeof(double));
            memcpy(v0, v1, size * sizeof(double));
        } else {
            memcpy(v0, v2, size * sizeof(double));
        }
    }
    free(room);
    return 0;
}
