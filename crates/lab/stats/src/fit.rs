//! Least squares, with plain and with robust standard errors.
//!
//! The columns are made orthonormal one after the other (modified Gram-Schmidt), X = Q R. All else
//! follows from Q: the leverages h_i are its rows' squared lengths, the coefficients are the rows
//! of A = R^-1 Q' times y, what is left of y is y - Q Q' y.
//!
//! Callers: `adjusted`; `autoregressive`.

/// A column whose squared length falls to this share when the others are taken out of it is made
/// of them.
const REDUNDANT: f64 = 1e-10;

/// A pair with a leverage this close to 1 is fitted exactly: nothing is left of it, and it says
/// nothing about the noise.
const EXACT: f64 = 1e-9;

/// A fit of y by columns.
pub(crate) struct Fit {
    /// The orthonormal columns.
    q: Vec<Vec<f64>>,
    /// For each coefficient, what each y contributes to it.
    a: Vec<Vec<f64>>,
    coefficients: Vec<f64>,
    leverages: Vec<f64>,
    left: Vec<f64>,
    y: Vec<f64>,
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub(crate) fn subtract(from: &mut [f64], times: f64, column: &[f64]) {
    for (from, value) in from.iter_mut().zip(column) {
        *from -= times * value;
    }
}

/// Whether the last column is a combination of the others.
pub(crate) fn last_is_redundant(columns: &[Vec<f64>]) -> bool {
    let last = columns.len() - 1;
    let length = dot(&columns[last], &columns[last]);
    let (_, r) = orthonormal(columns);
    r[last][last].powi(2) <= REDUNDANT * length
}

/// Q, and R with `r[row][column]`.
fn orthonormal(columns: &[Vec<f64>]) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
    let mut q: Vec<Vec<f64>> = Vec::new();
    let mut r = vec![vec![0.0; columns.len()]; columns.len()];
    for (at, column) in columns.iter().enumerate() {
        let mut column = column.clone();
        // Twice: the second pass takes out what rounding left in the first.
        for _ in 0..2 {
            for (row, before) in q.iter().enumerate() {
                let along = dot(before, &column);
                subtract(&mut column, along, before);
                r[row][at] += along;
            }
        }
        let length = dot(&column, &column).sqrt();
        r[at][at] = length;
        let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
        q.push(column.iter().map(|value| value * scale).collect());
    }
    (q, r)
}

impl Fit {
    /// Columns that are independent, each as long as `y`.
    pub(crate) fn of(columns: &[Vec<f64>], y: &[f64]) -> Fit {
        let (q, r) = orthonormal(columns);
        let mut a = q.clone();
        // From the last row of R up.
        for row in (0..a.len()).rev() {
            for column in row + 1..a.len() {
                let solved = a[column].clone();
                subtract(&mut a[row], r[row][column], &solved);
            }
            for value in &mut a[row] {
                *value /= r[row][row];
            }
        }
        let mut left = y.to_vec();
        for column in &q {
            let along = dot(column, &left);
            subtract(&mut left, along, column);
        }
        let leverages = (0..y.len()).map(|i| q.iter().map(|column| column[i].powi(2)).sum());
        Fit {
            coefficients: a.iter().map(|row| dot(row, y)).collect(),
            leverages: leverages.collect(),
            left,
            y: y.to_vec(),
            q,
            a,
        }
    }

    pub(crate) fn coefficient(&self, at: usize) -> f64 {
        self.coefficients[at]
    }

    /// What is left of each y.
    pub(crate) fn left(&self) -> &[f64] {
        &self.left
    }

    /// The standard error by HC3: the root of the sum of (a_i e_i / (1 - h_i))^2.
    pub(crate) fn standard_error(&self, at: usize) -> f64 {
        let alone = |left: f64, leverage: f64| {
            let room = 1.0 - leverage;
            if room > EXACT { left / room } else { 0.0 }
        };
        let each = self.left.iter().zip(&self.leverages).zip(&self.a[at]);
        each.map(|((left, leverage), a)| (a * alone(*left, *leverage)).powi(2)).sum::<f64>().sqrt()
    }

    /// The standard error if the noise is the same everywhere.
    pub(crate) fn plain_error(&self, at: usize) -> f64 {
        let variance = dot(&self.left, &self.left) / self.degrees();
        (variance * dot(&self.a[at], &self.a[at])).sqrt()
    }

    /// How many values there are beyond those that the columns take, and those that they fit
    /// exactly.
    pub(crate) fn degrees(&self) -> f64 {
        let trace: f64 = self.leverages.iter().sum();
        self.left.len() as f64 - trace
    }

    /// The share of the squares of y about its mean that this column took after those before it.
    pub(crate) fn share_of_variance(&self, at: usize) -> f64 {
        let along = |column: &[f64]| dot(column, &self.y).powi(2);
        let all = dot(&self.y, &self.y) - along(&self.q[0]);
        if all > 0.0 { along(&self.q[at]) / all } else { 0.0 }
    }
}
