//! Bit mixing: the hash behind `image_hash`, and the small generator behind samples and faults.
//!
//! Both are written out here so that their results depend on no library's version: a hash or a
//! seed quoted in an old message must mean the same for ever. The tests hold golden values.
//!
//! The hash reads 32 bytes at a time into four 64-bit lanes by the round of xxHash64,
//! `lane = rotl(lane + word * PRIME_2, 31) * PRIME_1`, and folds the lanes through the finaliser of
//! SplitMix64. (Without the word's own product the top bit of one word and bit 30 of the next
//! cancel.) It is made to count distinct images, not to resist an adversary.
//!
//! Sources: Steele, Lea & Flood, SplitMix (OOPSLA '14); the primes and lane structure of xxHash64.

const PRIME_1: u64 = 0x9E37_79B1_85EB_CA87;
const PRIME_2: u64 = 0xC2B2_AE3D_27D4_EB4F;
const LANES: [u64; 4] = [PRIME_1, PRIME_2, 0x1656_67B1_9E37_79F9, 0x85EB_CA77_C2B2_AE63];
const GOLDEN_GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// A bijection of 64 bits in which every input bit reaches every output bit.
pub(crate) fn finish(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

/// One word from two, where the order of the two matters.
pub(crate) fn pair(left: u64, right: u64) -> u64 {
    finish(finish(left).wrapping_add(GOLDEN_GAMMA) ^ right.rotate_left(17))
}

/// The hash of `data`, its length included.
pub(crate) fn bytes(data: &[u8]) -> u64 {
    let mut lanes = LANES;
    let (blocks, rest) = data.as_chunks::<32>();
    for block in blocks {
        let (words, _) = block.as_chunks::<8>();
        let words: &[[u8; 8]; 4] = words.try_into().expect("32 bytes are four words");
        lanes = std::array::from_fn(|lane| absorb(lanes[lane], words[lane]));
    }
    for (lane, piece) in rest.chunks(8).enumerate() {
        let mut word = [0; 8];
        word[..piece.len()].copy_from_slice(piece);
        lanes[lane] = absorb(lanes[lane], word);
    }
    let length = u64::try_from(data.len()).expect("a slice is shorter than 2^64 bytes");
    lanes.iter().fold(length, |sum, lane| pair(sum, *lane))
}

fn absorb(lane: u64, word: [u8; 8]) -> u64 {
    let word = u64::from_le_bytes(word).wrapping_mul(PRIME_2);
    lane.wrapping_add(word).rotate_left(31).wrapping_mul(PRIME_1)
}

/// SplitMix64: the same seed gives the same draws for ever.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn from_seed(seed: u64) -> Random {
        Random(finish(seed.wrapping_add(GOLDEN_GAMMA)))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN_GAMMA);
        finish(self.0)
    }

    /// A number below `bound`; the bias is below `bound / 2^64`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "no number is below zero");
        let product = u128::from(self.next()) * u128::from(bound);
        u64::try_from(product >> 64).expect("the high half of a 128-bit number has 64 bits")
    }

    /// True `per_million` times in a million.
    pub(crate) fn chance(&mut self, per_million: u32) -> bool {
        self.below(1_000_000) < u64::from(per_million)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_and_generator_keep_their_golden_values() {
        assert_eq!(bytes(b""), 0x9AF6_013A_1091_AFA3, "golden");
        assert_eq!(bytes(b"forebay"), 0xAF84_3BD1_4DD6_855D, "golden");
        assert_eq!(bytes(&[7; 4096]), 0x5748_1022_D9DA_3415, "golden");
        assert_eq!(Random::from_seed(1).next(), 0x5E41_AB08_7439_611E, "golden");
    }

    #[test]
    fn any_two_chunks_of_one_set_bit_have_different_hashes() {
        let mut chunk = [0_u8; 4096];
        let mut seen = std::collections::BTreeSet::from([bytes(&chunk)]);
        for bit in 0..4096 * 8 {
            chunk[bit / 8] ^= 1 << (bit % 8);
            assert!(seen.insert(bytes(&chunk)), "bit {bit} alone looks like another bit alone");
            chunk[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn length_and_position_count() {
        assert_ne!(bytes(&[0; 8]), bytes(&[0; 9]));
        assert_ne!(pair(1, 2), pair(2, 1));
    }

    #[test]
    fn draws_below_a_bound_reach_every_value_and_none_beyond() {
        let mut random = Random::from_seed(3);
        let mut hits = [0_u32; 7];
        for _ in 0..7000 {
            hits[usize::try_from(random.below(7)).expect("small")] += 1;
        }
        assert!(hits.iter().all(|hit| (800..1200).contains(hit)), "{hits:?}");
    }
}
