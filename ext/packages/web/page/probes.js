// Which bits of a filter decide about a key, from the specification in ext/FORMAT.md (layout 1,
// blocked).

const WORD = (1n << 64n) - 1n;
const PROBE_FACTOR = 0x9e3779b97f4a7c15n;
const PROBE_OFFSET = 0xb504f333f9de6485n;
const HEADER_BYTES = 64;
const BLOCK_BYTES = 64;

// The block of a key, its bytes, and the numbers of the bits in it that must all be set. hash: what
// bloom_hash gives.
function probesOf(filter, hash) {
  const view = new DataView(filter.buffer, filter.byteOffset, filter.byteLength);
  const probes = view.getUint32(8, true);
  const blocks = view.getBigUint64(16, true) / 512n;
  const value = new DataView(hash.buffer, hash.byteOffset, hash.byteLength).getBigUint64(0, true);
  const number = Number((value * blocks) >> 64n);
  const bits = [];
  let word = (value * PROBE_FACTOR + PROBE_OFFSET) & WORD;
  while (bits.length < probes) {
    for (let i = 0n; i < 7n && bits.length < probes; i++)
      bits.push(Number((word >> (55n - 9n * i)) & 511n));
    word = ((word ^ (word >> 32n)) * PROBE_FACTOR) & WORD;
  }
  const start = HEADER_BYTES + number * BLOCK_BYTES;
  return {
    number,
    blocks: Number(blocks),
    bits,
    bytes: filter.subarray(start, start + BLOCK_BYTES),
  };
}

function isSet(bytes, bit) {
  return ((bytes[bit >> 3] >> (bit & 7)) & 1) === 1;
}

// The rate of false positives of a filter of layout blocked with so many keys in it: a block holds
// a number of keys that is Poisson distributed, and each sets its probes anywhere in it.
// The chances are summed outwards from the likeliest number, as multiples of its chance, which
// may be too small for a number.
function blockedRate(keys, blocks, probes) {
  const mean = keys / blocks;
  const middle = Math.floor(mean);
  const spread = Math.ceil(10 * Math.sqrt(mean) + 20);
  let [chances, rate] = [0, 0];
  const add = (i, chance) => {
    chances += chance;
    rate += chance * (1 - (511 / 512) ** (probes * i)) ** probes;
  };
  for (let i = middle, chance = 1; i <= middle + spread; chance *= mean / ++i) add(i, chance);
  for (let i = middle, chance = 1; i > Math.max(0, middle - spread); ) {
    chance *= i-- / mean;
    add(i, chance);
  }
  return rate / chances;
}

function classicRate(keys, bits, probes) {
  return (1 - Math.exp((-probes * keys) / bits)) ** probes;
}
