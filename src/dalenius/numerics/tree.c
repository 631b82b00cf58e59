/* A tree over boxes of posteriors, as one loop (docs/mathematics.md 4.10; bounds/trees/posterior_pass.py by NumPy).

   A leaf is a box low <= v(a|y) <= high with multipliers m and sigma, which bound what its priors leak:

     bound = (1+sigma) log sum_a exp( sigma/(1+sigma) lz_a ) + (sigma+eta) K,   lz_a = log sum_{c of a} rho_c e^{h_c/sigma}
     h_c   = sum_y q_cy [ alpha_ay + sum_b beta_by + sum_b max(m high, m low)_by - m_ay ] + g_c

   where alpha v + beta is (1-eta) times the secant of v log v on the box, and g_c the tangent of grouped outputs, one of
   a few for the whole tree. The bound is the largest value over priors of a function that is linear in (m+, m-, sigma),
   so that it is convex in them; any m and any sigma > 0 give a bound that holds. A pass takes leaves above a target,
   lowers their bounds by Newton's method and cuts, depth first, those that it cannot bring below.

   The same loop has the trees of the row bound (4.2), where the secret has one value, boxes are of its output law u(y) in
   place of posteriors, and sigma is fixed: a sum over b becomes one over all y, since

     max_w { sum_y u log u + <w, g> - sigma D(w||rho) }  <=  sigma lz,   h_c = sum_y q_cy [ alpha_y - m_y + sum_x (beta_x + max(m high, m low)_x) ] + g_c .

   Nothing is proved here: a verifier evaluates every leaf again. No globals, no errno, no libm beyond sqrt, log, exp. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PRAGMA(x) _Pragma(#x)
#define SUM(v) PRAGMA(omp simd reduction(+ : v))
#define LARGEST(v) PRAGMA(omp simd reduction(max : v))

typedef struct {
    int64_t secrets, outputs, cells, tangents;
    int64_t row;                          /* whether boxes are of one output law, and sigma is fixed */
    const int64_t *first;                 /* first cell of every value, and the number of cells */
    const double *q;                      /* (outputs, cells): columns of the channel */
    const double *log_rho;                /* (cells) */
    const double *g;                      /* (tangents, cells), or NULL */
    const double *least, *most;           /* (boxes, outputs, outputs) factors between odds, or NULL */
    double knowledge, eta, least_s, most_s, fresh_s; /* fresh_s: where a search that was lost begins again */
    int64_t evaluations, scale;           /* most of one node; to which its numbers are rounded, see dalenius_round */
} Tree;

/* A leaf as it lies in memory: low[V], high[V], m[V], and these. For a binary secret V counts the outputs alone: the
   box of v(0|y) is what that of v(1|y) leaves. BOUND is the best bound of the leaf, OWN that at its own m and sigma,
   infinite where it was not evaluated there: a parent may do better. Leaves stand in order; CUT is where the node between a leaf and the
   next one was cut, which is as many as an inorder walk needs. */
enum { SIGMA, TANGENT, BOUND, OWN, DEPTH, CUT, EXTRA };

typedef struct {
    double *x, *t, *wq, *al, *be, *e, *lam, *u, *lz, *p, *z, *cov, *h, *f, *half, *step, *grad, *tried, *mean, *tilt, *scale;
    const double **of;
    int64_t *active, *place, *columns;
    double evals, heir; /* heir: the sigma that halves begin with, and m in `tried`, where it is not their whole's; else 0 */
    int last;           /* whether the halves are for another pass: they begin with numbers that were evaluated */
} Room;

static int64_t boxes(const Tree *T) { return T->secrets == 2 ? 1 : T->secrets; }

static Room *room_of(const Tree *T)
{
    int64_t A = T->secrets, Y = T->outputs, C = T->cells, V = boxes(T) * Y, K = V + 1;
    int64_t doubles = 3 * C + A * Y * 3 + 4 * Y + 5 * A + A * (Y + 1) * (Y + 1) + 2 * K * K + 5 * K;
    Room *w = calloc(1, sizeof(Room));
    double *d = malloc(sizeof(double) * (size_t)doubles);
    int64_t *n = malloc(sizeof(int64_t) * (size_t)(K + 2 * Y + 2));
    const double **of = malloc(sizeof(double *) * (size_t)(Y + 1));
    if (!w || !d || !n || !of) {
        free(w), free(d), free(n), free(of);
        return NULL;
    }
    w->x = d, d += C;
    w->t = d, d += C;
    w->wq = d, d += C;
    w->al = d, d += A * Y;
    w->lam = d, d += A * Y;
    w->u = d, d += A * Y;
    w->be = d, d += Y;
    w->z = d, d += 2 * Y;
    w->tilt = d, d += Y;
    w->lz = d, d += A;
    w->scale = d, d += A;
    w->p = d, d += A;
    w->mean = d, d += 2 * A;
    w->cov = d, d += A * (Y + 1) * (Y + 1);
    w->h = d, d += K * K;
    w->f = d, d += K * K;
    w->half = d, d += K;
    w->step = d, d += K;
    w->grad = d, d += K;
    w->tried = d, d += K;
    w->e = d, d += K;
    w->active = n, n += K;
    w->place = n, n += Y + 1;
    w->columns = n;
    w->of = of;
    return w;
}

static void room_free(Room *w) { free(w->x), free(w->active), free(w->of), free(w); }

static double phi(double v) { return v > 0 ? v * log(v) : 0; }

/* e^x for -700 <= x <= 0, by + and * alone, so that compilers make vectors of it. */
static inline double exp_of(double x)
{
    const double magic = 6755399441055744.0; /* 1.5 2^52: adding it rounds to a whole number */
    double k = x * 1.4426950408889634 + magic, r, p, scale;
    int64_t bits;
    memcpy(&bits, &k, 8);
    k -= magic;
    r = (x - k * 0.6931471803691238) - k * 1.9082149292705877e-10;
    p = 1.0 / 479001600;
    p = p * r + 1.0 / 39916800;
    p = p * r + 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    p = p * r + 1;
    p = p * r + 1;
    bits = (int64_t)((uint64_t)(bits + 1023) << 52);
    memcpy(&scale, &bits, 8);
    return p * scale;
}

/* x <- e^(l - peak) of numbers of any size, which may be the same array; their sum, and the peak. */
static double exponentials(int64_t n, const double *l, double *x, double *peak)
{
    double most = l[0], total = 0;
    LARGEST(most)
    for (int64_t t = 1; t < n; t++) most = l[t] > most ? l[t] : most;
    for (int64_t t = 0; t < n; t++) {
        double d = l[t] - most;
        x[t] = d > -700.0 ? d : -700.0;
    }
    SUM(total)
    for (int64_t t = 0; t < n; t++) x[t] = exp_of(x[t]), total += x[t];
    *peak = most;
    return total;
}

/* x <- e^x / sum; returns the logarithm of the sum. */
static double normalise(int64_t n, double *x)
{
    double peak, total = exponentials(n, x, x, &peak), inverse = 1 / total;
    for (int64_t t = 0; t < n; t++) x[t] *= inverse;
    return peak + log(total);
}

static double dot(int64_t n, const double *restrict a, const double *restrict b)
{
    double sum = 0;
    SUM(sum)
    for (int64_t t = 0; t < n; t++) sum += a[t] * b[t];
    return sum;
}

/* Products of one vector with several: four sums at once, as one alone waits for each of its additions to end. */
static void dots(int64_t n, const double *restrict a, int64_t many, const double *const *b, double *out)
{
    int64_t k = 0;
    for (; k + 4 <= many; k += 4) {
        const double *restrict b0 = b[k], *restrict b1 = b[k + 1], *restrict b2 = b[k + 2], *restrict b3 = b[k + 3];
        double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
        PRAGMA(omp simd reduction(+ : s0, s1, s2, s3))
        for (int64_t t = 0; t < n; t++) s0 += a[t] * b0[t], s1 += a[t] * b1[t], s2 += a[t] * b2[t], s3 += a[t] * b3[t];
        out[k] = s0, out[k + 1] = s1, out[k + 2] = s2, out[k + 3] = s3;
    }
    for (; k < many; k++) out[k] = dot(n, a, b[k]);
}

/* t <- base + the sum of columns times l, in fours: t is written as seldom as that allows. */
static void combined(int64_t n, const double *base, int64_t many, const double *l, const double *const *q, double *restrict t)
{
    int64_t k = 0;
    for (; k + 4 <= many; k += 4, base = t) {
        double l0 = l[k], l1 = l[k + 1], l2 = l[k + 2], l3 = l[k + 3];
        const double *q0 = q[k], *q1 = q[k + 1], *q2 = q[k + 2], *q3 = q[k + 3];
        PRAGMA(omp simd)
        for (int64_t c = 0; c < n; c++) t[c] = base[c] + (l0 * q0[c] + l1 * q1[c]) + (l2 * q2[c] + l3 * q3[c]);
    }
    for (; k < many; k++, base = t) {
        PRAGMA(omp simd)
        for (int64_t c = 0; c < n; c++) t[c] = base[c] + l[k] * q[k][c];
    }
}

/* The columns of the channel from one cell on. */
static const double **columns_from(const Tree *T, Room *w, int64_t begin)
{
    for (int64_t y = 0; y < T->outputs; y++) w->of[y] = T->q + y * T->cells + begin;
    return w->of;
}

/* The bound at the coefficients lam and sigma. Leaves t = log rho + h/sigma, w in x but for the factor scale_a, lz and p. */
static double evaluate(const Tree *T, Room *w, double sigma, int64_t tangent)
{
    int64_t A = T->secrets, Y = T->outputs, C = T->cells;
    double inverse = 1 / sigma, share = sigma / (1 + sigma), peak;
    for (int64_t a = 0; a < A; a++) {
        int64_t begin = T->first[a], n = T->first[a + 1] - begin;
        const double **q = columns_from(T, w, begin);
        double *t = w->t + begin;
        for (int64_t y = 0; y < Y; y++) w->tilt[y] = w->lam[a * Y + y] * inverse;
        combined(n, T->log_rho + begin, Y, w->tilt, q, t);
        if (T->g) {
            const double *g = T->g + tangent * C + begin;
            combined(n, t, 1, &inverse, &g, t);
        }
        double total = exponentials(n, t, w->x + begin, &peak);
        w->scale[a] = 1 / total;
        w->lz[a] = peak + log(total);
        w->p[a] = share * w->lz[a];
    }
    double total = normalise(A, w->p);
    w->evals++;
    return (1 + sigma) * total + (sigma + T->eta) * T->knowledge;
}

/* Slope of the chord of v log v, or of its tangent where the interval is a point. */
static double chord(double low, double high)
{
    return high - low < 1e-13 ? 1 + log(low > 1e-300 ? low : 1e-300) : (phi(high) - phi(low)) / (high - low);
}

static void secant(double low, double high, double share, double *alpha, double *beta)
{
    double slope = chord(low, high);
    *alpha = share * slope;
    *beta += share * (phi(low) - slope * low);
}

static void secants(const Tree *T, Room *w, const double *leaf)
{
    int64_t A = T->secrets, Y = T->outputs, V = boxes(T) * Y;
    const double *low = leaf, *high = leaf + V;
    for (int64_t y = 0; y < Y; y++) {
        w->be[y] = 0;
        if (A == 2) {
            secant(1 - high[y], 1 - low[y], 1 - T->eta, w->al + y, w->be + y);
            secant(low[y], high[y], 1 - T->eta, w->al + Y + y, w->be + y);
        } else
            for (int64_t a = 0; a < A; a++) secant(low[a * Y + y], high[a * Y + y], 1 - T->eta, w->al + a * Y + y, w->be + y);
    }
}

/* lam_ay = alpha_ay + sum_b ( beta_by + max(m high, m low)_by ) - m_ay; of a row, the sum of all outputs */
static void coefficients(const Tree *T, Room *w, const double *leaf, const double *m)
{
    int64_t A = T->secrets, Y = T->outputs, B = boxes(T), V = B * Y, own = A - B;
    double all = 0;
    for (int64_t y = 0; y < Y; y++) {
        double common = w->be[y];
        for (int64_t b = 0; b < B; b++) {
            int64_t i = b * Y + y;
            common += m[i] > 0 ? m[i] * leaf[V + i] : m[i] * leaf[i];
        }
        all += common;
        for (int64_t a = 0; a < A; a++)
            w->lam[a * Y + y] = w->al[a * Y + y] + (T->row ? 0 : common) - (a >= own ? m[(a - own) * Y + y] : 0);
    }
    if (T->row)
        for (int64_t y = 0; y < Y; y++) w->lam[y] += all;
}

/* Cholesky's factor of h + mu, below the diagonal of f; small pivots are raised. */
static void factor(int64_t n, const double *h, double mu, double *f)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            double s = h[i * n + j] + (i == j ? mu : 0);
            for (int64_t l = 0; l < j; l++) s -= f[i * n + l] * f[j * n + l];
            f[i * n + j] = i == j ? sqrt(s > 1e-16 ? s : 1e-16) : s / f[j * n + j];
        }
}

static void forward(int64_t n, const double *f, const double *b, double *x)
{
    for (int64_t i = 0; i < n; i++) {
        double s = b[i];
        for (int64_t l = 0; l < i; l++) s -= f[i * n + l] * x[l];
        x[i] = s / f[i * n + i];
    }
}

static void backward(int64_t n, const double *f, double *x)
{
    for (int64_t i = n - 1; i >= 0; i--) {
        double s = x[i];
        for (int64_t l = i + 1; l < n; l++) s -= f[l * n + i] * x[l];
        x[i] = s / f[i * n + i];
    }
}

/* The step that lowers grad.x + x.h.x/2 most among those of length `radius` at most, about (More and Sorensen);
   returns by how much. */
static double confined(int64_t n, const double *h, const double *grad, double radius, double *f, double *step, double *half)
{
    double mu = 0, gain = 0;
    for (int64_t i = 0; i < n; i++) mu = h[i * n + i] > mu ? h[i * n + i] : mu;
    mu *= 1e-9;
    for (int64_t k = 0; k < 8; k++) {
        factor(n, h, mu, f);
        forward(n, f, grad, step), backward(n, f, step);
        double length = sqrt(dot(n, step, step));
        if (length <= 1.1 * radius) break;
        forward(n, f, step, half);
        mu += length * length / dot(n, half, half) * (length / radius - 1);
    }
    double length = sqrt(dot(n, step, step)), short_ = length > radius ? radius / length : 1;
    for (int64_t i = 0; i < n; i++) step[i] *= -short_;
    for (int64_t i = 0; i < n; i++) {
        double hs = 0;
        for (int64_t j = 0; j < n; j++) hs += h[i * n + j] * step[j];
        gain -= step[i] * (grad[i] + hs / 2);
    }
    return gain;
}

/* Gradient and Hessian of the multipliers that are not at rest at 0, and of sigma: how many variables, sigma the last.

   The bound is sup_pi F(pi) + <pi, sum_i m_i f_i> + sigma (K - D), so that with the prior pi = p_a w_a that attains it

     gradient_i = E f_i,   Hessian_ij = sum_a p_a Cov_w(f_i, f_j) / sigma + Cov_p(E_w f_i, E_w f_j) / (1+sigma),

   f of the multiplier of (b, y) being q_y (end - [a = b]), and f of sigma being -log(pi/rho) = -(log p_a + t - lz_a). Of
   a row, f is end - q_y, z is 1 (totals), and sigma is no variable. */
static int64_t newton(const Tree *T, Room *w, const double *leaf, const double *m, double sigma)
{
    int64_t A = T->secrets, Y = T->outputs, C = T->cells, B = boxes(T), V = B * Y, own = A - B, n = 0, columns = 0;
    const double *low = leaf, *high = leaf + V;
    double knows = 0;
    for (int64_t y = 0; y < Y; y++) w->place[y] = -1;
    for (int64_t i = 0; i < V; i++) {
        int64_t y = i % Y, a = i / Y + own;
        double z = w->z[y], za = w->p[a] * w->u[a * Y + y];
        if (m[i] == 0 && za <= high[i] * z && za >= low[i] * z) continue;
        w->e[n] = m[i] > 0 ? high[i] : m[i] < 0 ? low[i] : za > high[i] * z ? high[i] : low[i];
        w->grad[n] = z * w->e[n] - za;
        w->active[n++] = i;
        if (w->place[y] < 0) w->place[y] = columns, w->columns[columns++] = y;
    }
    /* covariances of the columns in use, and of t, which comes last */
    int64_t W = Y + 1;
    for (int64_t a = 0; a < A; a++) {
        int64_t begin = T->first[a], cells = T->first[a + 1] - begin;
        double *restrict x = w->x + begin, *restrict t = w->t + begin;
        double *restrict wq = w->wq + begin, *cov = w->cov + a * W * W;
        for (int64_t c = 0; c < cells; c++) t[c] -= T->log_rho[begin + c], x[c] *= w->scale[a];
        double et = dot(cells, x, t);
        w->mean[a] = -(log(w->p[a] > 1e-300 ? w->p[a] : 1e-300) + et - w->lz[a]);
        knows -= w->p[a] * w->mean[a];
        for (int64_t i = 0; i <= columns; i++) w->of[i] = i < columns ? T->q + w->columns[i] * C + begin : w->t + begin;
        for (int64_t i = 0; i <= columns; i++) {
            const double *restrict q = w->of[i];
            double ei = i < columns ? w->u[a * Y + w->columns[i]] : et;
            for (int64_t c = 0; c < cells; c++) wq[c] = x[c] * (q[c] - ei);
            /* in fours, though those beyond i are known */
            dots(cells, wq, columns < i / 4 * 4 + 4 ? columns + 1 : i / 4 * 4 + 4, w->of, cov + i * W);
            for (int64_t j = 0; j < i; j++) cov[j * W + i] = cov[i * W + j];
        }
    }
    w->grad[n] = T->knowledge - knows;
    int64_t N = n + !T->row;
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j <= i; j++) {
            double inside = 0, ei = 0, ej = 0, both = 0;
            for (int64_t a = 0; a < A; a++) {
                const double *cov = w->cov + a * W * W;
                int64_t ki = i < n ? w->place[w->active[i] % Y] : columns, kj = j < n ? w->place[w->active[j] % Y] : columns;
                double fi = i < n && !T->row ? w->e[i] - (a == w->active[i] / Y + own) : -1;
                double fj = j < n && !T->row ? w->e[j] - (a == w->active[j] / Y + own) : -1;
                double mi = i < n ? fi * w->u[a * Y + w->active[i] % Y] : w->mean[a];
                double mj = j < n ? fj * w->u[a * Y + w->active[j] % Y] : w->mean[a];
                inside += w->p[a] * fi * fj * cov[ki * W + kj];
                ei += w->p[a] * mi, ej += w->p[a] * mj, both += w->p[a] * mi * mj;
            }
            double value = inside / sigma + (both - ei * ej) / (1 + sigma);
            w->h[i * N + j] = w->h[j * N + i] = value;
        }
    if (T->row) return n;
    /* sigma in units of itself */
    for (int64_t i = 0; i <= n; i++) w->h[i * N + n] *= sigma, w->h[n * N + i] *= sigma;
    w->grad[n] *= sigma;
    return N;
}

/* Take the step: no multiplier goes beyond 0, and sigma stays within its limits. */
static double moved(const Tree *T, Room *w, const double *m, double sigma, int64_t n)
{
    double s = T->row ? sigma : sigma * (1 + w->step[n - 1]), least = sigma / 4 > T->least_s ? sigma / 4 : T->least_s;
    memcpy(w->tried, m, sizeof(double) * (size_t)(boxes(T) * T->outputs));
    for (int64_t k = 0; k < n - !T->row; k++) {
        int64_t i = w->active[k];
        double sign = m[i] != 0 ? m[i] : -w->grad[k], value = m[i] + w->step[k];
        w->tried[i] = value * sign > 0 ? value : 0;
    }
    return T->row ? s : s < least ? least : s > T->most_s ? T->most_s : s;
}

static double at(const Tree *T, Room *w, const double *leaf, const double *m, double sigma, int64_t tangent)
{
    coefficients(T, w, leaf, m);
    double value = evaluate(T, w, sigma, tangent);
    return value == value ? value : INFINITY;
}

/* u_a(y) = w_a q and z_y of the prior that attains the bound: no leaf that is at its target needs them. */
static void totals(const Tree *T, Room *w)
{
    for (int64_t a = 0; a < T->secrets; a++) {
        int64_t begin = T->first[a];
        double *u = w->u + a * T->outputs;
        dots(T->first[a + 1] - begin, w->x + begin, T->outputs, columns_from(T, w, begin), u);
        for (int64_t y = 0; y < T->outputs; y++) u[y] *= w->scale[a];
    }
    for (int64_t y = 0; y < T->outputs; y++) {
        double z = 0;
        for (int64_t a = 0; a < T->secrets; a++) z += w->p[a] * w->u[a * T->outputs + y];
        w->z[y] = T->row ? 1 : z > 1e-290 ? z : 1e-290;
    }
}

/* Round m and sigma to what a certificate holds at a scale: multiples of 16^-(scale+1), and 3 (scale+1) bits; sigma of
   a row is written once, with all its digits. */
static double snapped(const Tree *T, double *m, double sigma, int64_t scale)
{
    int64_t n = boxes(T) * T->outputs;
    double grid = ldexp(1.0, 4 * (int)scale + 4);
    int bits = 3 * (int)scale + 3, exponent;
    for (int64_t i = 0; i < n; i++) m[i] = rint(m[i] * grid) / grid;
    if (T->row) return sigma;
    double fraction = rint(ldexp(frexp(sigma, &exponent), bits + 1));
    return ldexp(fraction, exponent - bits - 1);
}

/* The best of all tangents at the point that was evaluated with one of them: its tilt t changes by (g' - g)/sigma. */
static int64_t sweep(const Tree *T, Room *w, double sigma, int64_t tangent, double value)
{
    int64_t A = T->secrets, C = T->cells, best = tangent;
    double inverse = 1 / sigma, share = sigma / (1 + sigma);
    for (int64_t k = 0; k < T->tangents; k++) {
        const double *restrict own = T->g + tangent * C, *restrict other = T->g + k * C, *restrict t = w->t;
        double *restrict x = w->wq;
        if (k == tangent) continue;
        for (int64_t c = 0; c < C; c++) x[c] = t[c] + (other[c] - own[c]) * inverse;
        for (int64_t a = 0; a < A; a++) w->mean[a] = share * normalise(T->first[a + 1] - T->first[a], x + T->first[a]);
        double tried = (1 + sigma) * normalise(A, w->mean) + (sigma + T->eta) * T->knowledge;
        if (tried < value) value = tried, best = k;
    }
    return best;
}

/* Lower the bound of a leaf until it is at the target, or a step promises too little for that; by any tangent, or by the
   leaf's: one that is better where the search begins may be worse where it ends.

   Newton's steps, confined to where the last ones were good: the model is flat along (m, sigma) -> c (m, sigma), which
   leaves the tilt h/sigma nearly as it is, and the whole step would go there. */
static double lower(const Tree *T, Room *w, double *leaf, double target, int any)
{
    int64_t V = boxes(T) * T->outputs, tangent = (int64_t)leaf[3 * V + TANGENT];
    double *m = leaf + 2 * V, *extra = leaf + 3 * V, sigma = extra[SIGMA] > T->least_s ? extra[SIGMA] : T->least_s;
    double radius = 2, value;
    w->heir = 0;
    secants(T, w, leaf);
    sigma = snapped(T, m, sigma, T->scale);
    value = at(T, w, leaf, m, sigma, tangent);
    if (value > target && any && T->tangents > 1) {
        int64_t best = sweep(T, w, sigma, tangent, value);
        if (best != tangent) tangent = best, value = at(T, w, leaf, m, sigma, tangent);
    }
    if (value > target) totals(T, w);
    double most = w->evals + (double)T->evaluations;
    for (int first = 1; value > target && w->evals < most; first = 0) {
        int64_t n = newton(T, w, leaf, m, sigma);
        double tried = INFINITY, s = sigma, gain;
        do {
            gain = confined(n, w->h, w->grad, radius, w->f, w->step, w->half);
            /* Two such steps would not do: cut. The halves begin where the first leads, else multipliers grow stale from
               parent to child until no cut helps. */
            if (value - 2 * gain > target && !(first && (tried < INFINITY || w->last))) {
                if (first) w->heir = moved(T, w, m, sigma, n);
                break;
            }
            s = moved(T, w, m, sigma, n);
            /* Where the step should do, what a certificate will hold of it is tried first. */
            if (value - gain <= target) {
                double rounded = snapped(T, w->tried, s, T->scale);
                tried = at(T, w, leaf, w->tried, rounded, tangent);
                if (tried <= target) {
                    s = rounded;
                    break;
                }
                s = moved(T, w, m, sigma, n);
            }
            tried = at(T, w, leaf, w->tried, s, tangent);
            if (tried < value - 0.1 * gain || tried <= target) break;
            radius *= 0.3;
        } while (w->evals < most);
        if (!(tried < value)) {
            if (tried < INFINITY) at(T, w, leaf, m, sigma, tangent), totals(T, w);
            break;
        }
        if (value - tried > 0.7 * gain) radius *= 2;
        value = tried, sigma = s;
        memcpy(m, w->tried, sizeof(double) * (size_t)V);
        if (value > target) totals(T, w);
    }
    extra[SIGMA] = sigma, extra[TANGENT] = (double)tangent, extra[OWN] = value;
    if (value < extra[BOUND]) extra[BOUND] = value;
    return value;
}

/* The largest distance of the chord from v log v. */
static double excess(double low, double high)
{
    if (high - low < 1e-12) return 0;
    double slope = chord(low, high), v = exp(slope - 1);
    v = v < low ? low : v > high ? high : v;
    return phi(low) + slope * (v - low) - phi(v);
}

/* The box to cut, or -1 where all are points; hope: what cuts can take off the bound at most, of its own prior. */
static int64_t widest(const Tree *T, const Room *w, const double *leaf, double *hope)
{
    int64_t Y = T->outputs, V = boxes(T) * Y, best = -1;
    double most = 0;
    *hope = 0;
    for (int64_t i = 0; i < V; i++) {
        double low = leaf[i], high = leaf[V + i];
        if (high - low < 1e-10) continue;
        double e = w->z[i % Y] * (excess(low, high) + (T->secrets == 2 ? excess(1 - high, 1 - low) : 0));
        *hope += e;
        if (e > most) most = e, best = i;
    }
    return best;
}

static double afresh(const Tree *T, Room *w, double *leaf, double target)
{
    int64_t V = boxes(T) * T->outputs;
    memset(leaf + 2 * V, 0, sizeof(double) * (size_t)V);
    leaf[3 * V + SIGMA] = T->fresh_s;
    return lower(T, w, leaf, target, 1);
}

/* Which box to cut of a leaf that the search has left above the target, or -1: none is needed, or all are points.

   Where no cuts can take as much off the bound as is wanted, the search was lost, and begins afresh: at a small sigma the
   bound has kinks that confined steps do not get across, and children would inherit the place. A parity at 97 % of its
   entropy had a million nodes and no better bound; 302 do. */
static int64_t cut(const Tree *T, Room *w, double *leaf, double target)
{
    double hope, *extra = leaf + 3 * boxes(T) * T->outputs;
    int64_t best = widest(T, w, leaf, &hope);
    if (extra[OWN] - hope <= target) return best;
    afresh(T, w, leaf, target);
    return extra[BOUND] > target ? widest(T, w, leaf, &hope) : -1;
}

/* Half way in arcsin sqrt(v), in which the excess depends on the width alone. */
static double middle(double low, double high)
{
    double c = (1 - (sqrt((1 - low) * (1 - high)) - sqrt(low * high))) / 2;
    return c > low && c < high ? c : (low + high) / 2;
}

/* By how much ends are moved outward, as a verifier moves them: else its boxes, and with them its bounds, would differ. */
#define LEAST 1e-140
#define MOST 1e140
#define OUTWARD (1.0 / 70368744177664.0) /* 2^-46 */
#define SLACK(A) ((double)(((A) + 1) * ((A) + 1)) / 4503599627370496.0) /* (A+1)^2 2^-52 */

/* The posterior whose odds are `factor` times those of v, moved outward by so much. */
static double carried(double v, double factor, double outward) { return v / (v + (1 - v) / factor) * (1 + outward); }

/* Ends that follow from the others, of so many boxes that sum to one; whether any law is left. */
static int left_over(double *low, double *high, int64_t many, int64_t stride)
{
    double lows = 0, highs = 0;
    for (int64_t k = 0; k < many; k++) lows += low[k * stride], highs += high[k * stride];
    if (lows > 1 + 1e-12 || highs < 1 - 1e-12) return 0;
    for (int64_t k = 0; k < many; k++) {
        double *l = low + k * stride, *h = high + k * stride;
        double most = 1 - (lows - *l) + SLACK(many), least = 1 - (highs - *h) - SLACK(many);
        if (*h > most) *h = most;
        if (*l < least) *l = least;
    }
    return 1;
}

/* Carry the new end of box i to other outputs, and to other values; whether anything is left. */
static int tighten(const Tree *T, double *leaf, int64_t i, int upper)
{
    int64_t A = T->secrets, Y = T->outputs, V = boxes(T) * Y, b = i / Y, y = i % Y;
    double *low = leaf, *high = leaf + V;
    if (T->least)
        for (int64_t g = 0; g < Y; g++) {
            int64_t k = b * Y + g;
            double factor = (upper ? T->most : T->least)[(b * Y + y) * Y + g];
            double at = upper ? high[i] : low[i];
            /* Clamped as a verifier does, so that no quotient leaves the range of doubles. */
            if (g == y || (upper ? factor >= MOST || at >= 1 : factor <= LEAST || at <= LEAST)) continue;
            factor = factor < LEAST ? LEAST : factor > MOST ? MOST : factor;
            double v = carried(at < LEAST ? LEAST : at, factor, upper ? OUTWARD : -OUTWARD);
            if (upper && v < high[k]) high[k] = v;
            if (!upper && v > low[k]) low[k] = v;
        }
    if (T->row && !left_over(low, high, Y, 1)) return 0;
    if (A > 2)
        for (int64_t g = 0; g < Y; g++)
            if (!left_over(low + g, high + g, A, Y)) return 0;
    for (int64_t k = 0; k < V; k++) {
        if (low[k] > high[k] + 1e-12) return 0;
        if (low[k] > high[k]) low[k] = high[k];
    }
    return 1;
}

/* Bring leaves to the target. Takes leaves of `in` in order, and writes what they become to `out`, which has room for
   so many; stops after so many nodes, or where the room is short. counts: leaves taken, nodes. Returns the leaves written, or -1 where there is no memory. */
int64_t dalenius_pass(const Tree *T, const double *in, int64_t n, double *out, int64_t space, double target, int64_t nodes, double *counts)
{
    int64_t V = boxes(T) * T->outputs, L = 3 * V + EXTRA, height = 256, top = 0, o = 0, k = 0, late = 0, done = 0;
    size_t bytes = sizeof(double) * (size_t)L;
    Room *w = room_of(T);
    double *stack = malloc(bytes * (size_t)height);
    if (!w || !stack) return -1;
    for (; k < n && !late; k++) {
        if (o + 2 > space) break;
        memcpy(stack, in + k * L, bytes);
        top = 1;
        while (top) {
            double *leaf = stack + (top - 1) * L, *extra = leaf + 3 * V;
            if (late) {
                memcpy(out + o++ * L, leaf, bytes), top--;
                continue;
            }
            int64_t i = -1;
            if (extra[BOUND] > target) {
                if (++done >= nodes || o + top + 3 > space) late = w->last = 1;
                lower(T, w, leaf, target, 1);
                if (extra[BOUND] > target) i = cut(T, w, leaf, target);
            }
            if (i < 0) {
                memcpy(out + o++ * L, leaf, bytes), top--;
                continue;
            }
            if (top + 1 > height) {
                height *= 2;
                double *more = realloc(stack, bytes * (size_t)height);
                if (!more) return -1;
                stack = more, leaf = stack + (top - 1) * L, extra = leaf + 3 * V;
            }
            double *left = stack + top * L, at = middle(leaf[i], leaf[V + i]);
            if (w->heir > 0) extra[SIGMA] = w->heir, memcpy(leaf + 2 * V, w->tried, sizeof(double) * (size_t)V);
            extra[DEPTH] += 1, extra[OWN] = INFINITY;
            memcpy(left, leaf, bytes);
            left[V + i] = at, leaf[i] = at, left[3 * V + CUT] = (double)i;
            if (!tighten(T, left, i, 1)) left[3 * V + BOUND] = -INFINITY;
            if (!tighten(T, leaf, i, 0)) extra[BOUND] = -INFINITY;
            top++;
        }
    }
    counts[0] = (double)k, counts[1] = (double)done;
    free(stack), room_free(w);
    return o;
}

/* Round leaves to what a certificate holds: m to multiples of 16^-(scale+1), sigma to 3 (scale+1) bits, at the coarsest
   scale, 0 to 3, at which the leaf still proves `upper`. codes: scale, sigma and the multipliers of every leaf, V + 2
   each; proved: the bound that they prove, without rounding errors. Leaves that no scale brings there are searched again
   and, at last, prove what they can. Empty leaves are left out. Returns 0, or -1 where there is no memory. */
int64_t dalenius_round(const Tree *T, double *leaves, int64_t n, double upper, int32_t *codes, double *proved)
{
    int64_t V = boxes(T) * T->outputs, L = 3 * V + EXTRA;
    Room *w = room_of(T);
    double *spare = malloc(sizeof(double) * (size_t)L);
    if (!w || !spare) return -1;
    for (int64_t k = 0; k < n; k++) {
        double *leaf = leaves + k * L, *m = leaf + 2 * V, *extra = leaf + 3 * V;
        int32_t *code = codes + k * (V + 2);
        proved[k] = -INFINITY;
        if (extra[BOUND] == -INFINITY) continue;
        memcpy(w->tried, m, sizeof(double) * (size_t)V);
        secants(T, w, leaf);
        for (int64_t round = 0; round < 8; round++) {
            if (round == 4) {
                /* Close enough; or never evaluated before, and then worth a search, from where halves begin or afresh. */
                if (proved[k] <= upper + 1e-8 * (1 + fabs(upper))) break;
                double wanted = upper - 1e-9 * (1 + fabs(upper)), reached = lower(T, w, leaf, wanted, 0);
                memcpy(spare, leaf, sizeof(double) * (size_t)L);
                if (reached > upper && afresh(T, w, leaf, wanted) > reached) memcpy(leaf, spare, sizeof(double) * (size_t)L);
                if (extra[OWN] > upper) round = 7;
            }
            int64_t scale = round % 4;
            int bits = 3 * (int)scale + 3, exponent = 0, same = 1;
            memcpy(w->tried, m, sizeof(double) * (size_t)V);
            double grid = ldexp(1.0, 4 * (int)scale + 4), sigma = snapped(T, w->tried, extra[SIGMA], scale);
            double fraction = T->row ? 0 : ldexp(2 * frexp(sigma, &exponent) - 1, bits);
            code[0] = (int32_t)scale;
            code[1] = T->row ? 0 : (int32_t)(((int64_t)exponent - 1) * ((int64_t)1 << bits)) + (int32_t)fraction;
            for (int64_t i = 0; i < V; i++) {
                double whole = w->tried[i] * grid;
                code[2 + i] = (int32_t)(whole > 2e9 ? 2e9 : whole < -2e9 ? -2e9 : whole);
                w->tried[i] = code[2 + i] / grid;
                same &= w->tried[i] == m[i];
            }
            proved[k] = same && sigma == extra[SIGMA] && extra[OWN] <= upper
                            ? extra[OWN]
                            : at(T, w, leaf, w->tried, sigma, (int64_t)extra[TANGENT]);
            if (proved[k] <= upper) break;
        }
    }
    free(spare), room_free(w);
    return 0;
}
