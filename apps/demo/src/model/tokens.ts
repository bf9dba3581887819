/** Pieces of about a token each: a word with the space before it. Joined they are the text again. */
export function tokensOf(text: string): readonly string[] {
  return text.match(/\s*[^\s]{1,8}|\s+$/gu) ?? []
}
