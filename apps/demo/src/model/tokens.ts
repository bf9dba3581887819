/** Splits a text into pieces of about one token: a word and the space before it. Joined they equal the text. */
export function tokensOf(text: string): readonly string[] {
  return text.match(/\s*[^\s]{1,8}|\s+$/gu) ?? []
}
