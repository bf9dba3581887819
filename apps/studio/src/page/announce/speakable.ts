/** Returns the text of Markdown without its marks, for reading aloud. */
export function speakable(markdown: string): string {
  return markdown
    .replace(/^\s*```.*$/gm, '')
    .replace(/^\s*\|?[\s:|-]+\|?\s*$/gm, '')
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/^\s*(?:#+|>|[-*])\s+/gm, '')
    .replace(/\*\*?|`/g, '')
    .replace(/\|/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()
}
