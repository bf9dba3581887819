/** Scripts that put no spaces between words: each character counts as a word. */
const unspaced = String.raw`\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}`
const word = new RegExp(`[${unspaced}]|[[\\p{L}\\p{N}]--[${unspaced}]]+`, 'gv')
const longest = 64

/**
 * Returns the distinct words of a text: letters and digits in lower case, without accents. All stores index these words and do
 * not split text themselves.
 */
export function wordsOf(text: string): readonly string[] {
  // Lower case twice, because the decomposition of a character can produce capitals.
  const plain = text
    .toLowerCase()
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/\p{M}+/gu, '')
  return [...new Set(plain.match(word)?.map(shortened))]
}

function shortened(found: string): string {
  return found.length <= longest ? found : [...found].slice(0, longest).join('')
}

/** Counts the wanted words that are the beginning of a word in the text. */
export function countMatches(text: string, wanted: readonly string[]): number {
  const words = wordsOf(text)
  return wanted.filter((start) => words.some((each) => each.startsWith(start))).length
}
