//! MD5, for the function of that name: a fingerprint, and no protection against anybody.
//!
//! Callers: `text`. Sources: RFC 1321, whose test suite is the test here.

/// How far each step of a round turns.
const TURNS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];
const START: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
/// The bytes of a block.
const BLOCK: usize = 64;

/// The constants of the 64 steps: the whole part of 2^32 |sin(i + 1)|.
const SINES: [[u32; 4]; 16] = [
    [0xd76a_a478, 0xe8c7_b756, 0x2420_70db, 0xc1bd_ceee],
    [0xf57c_0faf, 0x4787_c62a, 0xa830_4613, 0xfd46_9501],
    [0x6980_98d8, 0x8b44_f7af, 0xffff_5bb1, 0x895c_d7be],
    [0x6b90_1122, 0xfd98_7193, 0xa679_438e, 0x49b4_0821],
    [0xf61e_2562, 0xc040_b340, 0x265e_5a51, 0xe9b6_c7aa],
    [0xd62f_105d, 0x0244_1453, 0xd8a1_e681, 0xe7d3_fbc8],
    [0x21e1_cde6, 0xc337_07d6, 0xf4d5_0d87, 0x455a_14ed],
    [0xa9e3_e905, 0xfcef_a3f8, 0x676f_02d9, 0x8d2a_4c8a],
    [0xfffa_3942, 0x8771_f681, 0x6d9d_6122, 0xfde5_380c],
    [0xa4be_ea44, 0x4bde_cfa9, 0xf6bb_4b60, 0xbebf_bc70],
    [0x289b_7ec6, 0xeaa1_27fa, 0xd4ef_3085, 0x0488_1d05],
    [0xd9d4_d039, 0xe6db_99e5, 0x1fa2_7cf8, 0xc4ac_5665],
    [0xf429_2244, 0x432a_ff97, 0xab94_23a7, 0xfc93_a039],
    [0x655b_59c3, 0x8f0c_cc92, 0xffef_f47d, 0x8584_5dd1],
    [0x6fa8_7e4f, 0xfe2c_e6e0, 0xa301_4314, 0x4e08_11a1],
    [0xf753_7e82, 0xbd3a_f235, 0x2ad7_d2bb, 0xeb86_d391],
];

/// The fingerprint of these bytes.
pub(super) fn digest(bytes: &[u8]) -> [u8; 16] {
    let mut state = START;
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    for block in blocks {
        mix(&mut state, block);
    }
    // Behind the bytes stand a one, zeros, and the number of bits at the end of a block.
    let mut last = [[0; BLOCK]; 2];
    let ends = usize::from(rest.len() >= BLOCK - 8);
    last[0][..rest.len()].copy_from_slice(rest);
    last[0][rest.len()] = 0x80;
    let bits = (bytes.len() as u64).wrapping_mul(8);
    last[ends][BLOCK - 8..].copy_from_slice(&bits.to_le_bytes());
    for block in &last[..=ends] {
        mix(&mut state, block);
    }
    let mut digest = [0; 16];
    for (part, word) in digest.chunks_exact_mut(4).zip(state) {
        part.copy_from_slice(&word.to_le_bytes());
    }
    digest
}

fn mix(state: &mut [u32; 4], block: &[u8; BLOCK]) {
    let mut words = [0; 16];
    for (word, bytes) in words.iter_mut().zip(block.as_chunks::<4>().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    let [mut a, mut b, mut c, mut d] = *state;
    for (step, sine) in SINES.into_iter().flatten().enumerate() {
        let (round, place) = (step / 16, step % 16);
        let (mixed, word) = match round {
            0 => ((b & c) | (!b & d), place),
            1 => ((d & b) | (!d & c), (5 * place + 1) % 16),
            2 => (b ^ c ^ d, (3 * place + 5) % 16),
            _ => (c ^ (b | !d), 7 * place % 16),
        };
        let sum = a.wrapping_add(mixed).wrapping_add(sine).wrapping_add(words[word]);
        let turned = b.wrapping_add(sum.rotate_left(TURNS[round][step % 4]));
        (a, b, c, d) = (d, turned, b, c);
    }
    for (word, more) in state.iter_mut().zip([a, b, c, d]) {
        *word = word.wrapping_add(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fingerprints_are_those_of_the_standard() {
        let of = |text: &str| -> String {
            digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
        };
        let all = [
            ("", "d41d8cd98f00b204e9800998ecf8427e"),
            ("a", "0cc175b9c0f1b6a831c399e269772661"),
            ("abc", "900150983cd24fb0d6963f7d28e17f72"),
            ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
            ("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
        ];
        for (text, expected) in all {
            assert_eq!(of(text), expected);
        }
        let long = "1234567890".repeat(8);
        assert_eq!(of(&long), "57edf4a22be3c955ac49da2e2107b67a");
        // At the ends of blocks.
        assert_eq!(of(&"x".repeat(55)), "04364420e25c512fd958a70738aa8f72");
        assert_eq!(of(&"x".repeat(56)), "668a72d5ba17f08e62dabcafad6db14b");
        assert_eq!(of(&"x".repeat(64)), "c1bb4f81d892b2d57947682aeb252456");
    }
}
