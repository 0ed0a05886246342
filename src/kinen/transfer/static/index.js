// A full-text index with BM25. It is built in slices, so that the page can be used meanwhile.
const K1 = 1.2;
const B = 0.75;
const MOST_TERMS = 48;
const MOST_ENDINGS = 40;

function grown(array, size) {
  if (size <= array.length) return array;
  const larger = new array.constructor(Math.max(size, array.length * 2));
  larger.set(array);
  return larger;
}

class Index {
  constructor() {
    this.ids = new Map();
    this.names = [];
    this.documents = 0;
    this.lengths = new Uint32Array(1024);
    this.total = 0;
    this.ready = false;
    this.wordTerms = new Map();
    this.entryTerms = new Uint32Array(1 << 16);
    this.entryCounts = new Uint8Array(1 << 16);
    this.entryEnds = new Uint32Array(1024);
    this.entries = 0;
    this.counts = new Uint16Array(1 << 12);
  }

  /** Add the next document. */
  add(text) {
    const seen = [];
    const words = wordsOf(text);
    let length = 0;
    for (let place = 0; place < words.length; place += 1) {
      const terms = this.wordTerms.get(words[place]) ?? this.learn(words[place]);
      const counts = this.counts;
      for (let number = 0; number < terms.length; number += 1) {
        const term = terms[number];
        if (counts[term] === 0) seen.push(term);
        if (counts[term] < 255) counts[term] += 1;
      }
      length += terms.length;
    }
    const end = this.entries + seen.length;
    this.entryTerms = grown(this.entryTerms, end);
    this.entryCounts = grown(this.entryCounts, end);
    for (const term of seen) {
      this.entryTerms[this.entries] = term;
      this.entryCounts[this.entries] = this.counts[term];
      this.entries += 1;
      this.counts[term] = 0;
    }
    this.lengths = grown(this.lengths, this.documents + 1);
    this.entryEnds = grown(this.entryEnds, this.documents + 1);
    this.lengths[this.documents] = length;
    this.entryEnds[this.documents] = end;
    this.total += length;
    this.documents += 1;
  }

  /** The ids of the terms of a word that comes for the first time. */
  learn(word) {
    const ids = termsOf(word.length > 64 ? word.slice(0, 64) : word).map((term) => {
      let id = this.ids.get(term);
      if (id === undefined) {
        id = this.names.length;
        this.ids.set(term, id);
        this.names.push(term);
        this.counts = grown(this.counts, id + 1);
      }
      return id;
    });
    this.wordTerms.set(word, ids);
    return ids;
  }

  /** Turn the terms of each document into the documents of each term. */
  finish() {
    const starts = new Uint32Array(this.names.length + 1);
    for (let entry = 0; entry < this.entries; entry += 1) starts[this.entryTerms[entry] + 1] += 1;
    for (let term = 0; term < this.names.length; term += 1) starts[term + 1] += starts[term];
    const next = starts.slice();
    this.postings = new Uint32Array(this.entries);
    this.frequencies = new Uint8Array(this.entries);
    let entry = 0;
    for (let document = 0; document < this.documents; document += 1) {
      for (; entry < this.entryEnds[document]; entry += 1) {
        const place = next[this.entryTerms[entry]]++;
        this.postings[place] = document;
        this.frequencies[place] = this.entryCounts[entry];
      }
    }
    this.starts = starts;
    for (const name of ["wordTerms", "entryTerms", "entryCounts", "entryEnds", "counts"]) delete this[name];
    this.ready = true;
  }

  /** The terms of a query, each with the ids of terms that stand for it; the last may be a beginning. */
  parse(query) {
    const groups = new Map();
    const words = wordsOf(query);
    words.forEach((word, place) => {
      for (const term of termsOf(word)) {
        if (groups.size >= MOST_TERMS || groups.has(term)) continue;
        const id = this.ids.get(term);
        const ids = id === undefined ? [] : [[id, 1]];
        const open = place === words.length - 1 && !/\s$/.test(query) && term.length > 1;
        groups.set(term, open ? [...ids, ...this.endings(word.toLowerCase(), term)] : ids);
      }
    });
    return groups;
  }

  endings(beginning, term) {
    const ids = [];
    for (let id = 0; id < this.names.length && ids.length < MOST_ENDINGS; id += 1)
      if (this.names[id].startsWith(beginning) && this.names[id] !== term) ids.push([id, 0.5]);
    return ids;
  }

  /** The documents that match a query, best first, and the score of each document. */
  search(query) {
    const groups = this.parse(query);
    const scores = new Float32Array(this.documents);
    const matched = new Uint8Array(this.documents);
    const last = new Uint8Array(this.documents);
    const average = this.total / Math.max(1, this.documents);
    const hits = [];
    let number = 0;
    for (const ids of groups.values()) {
      number += 1;
      for (const [id, weight] of ids) {
        const from = this.starts[id];
        const to = this.starts[id + 1];
        const rarity = weight * Math.log(1 + (this.documents - (to - from) + 0.5) / (to - from + 0.5));
        for (let place = from; place < to; place += 1) {
          const document = this.postings[place];
          const count = this.frequencies[place];
          if (scores[document] === 0) hits.push(document);
          const norm = K1 * (1 - B + (B * this.lengths[document]) / average);
          scores[document] += (rarity * count * (K1 + 1)) / (count + norm);
          if (last[document] !== number) {
            last[document] = number;
            matched[document] += 1;
          }
        }
      }
    }
    // A document with all words of the query goes before one that repeats some of them.
    for (const document of hits) scores[document] *= matched[document] / groups.size;
    hits.sort((one, two) => scores[two] - scores[one] || two - one);
    return { hits, scores };
  }
}
