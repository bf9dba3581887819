import { memo, useMemo } from 'react'

const chunkCharacters = 4000
const lineCharacters = 90
const linePixels = 24

/** Plain text. Parts of a long text that are out of sight are not laid out. */
export const PlainText = memo(function PlainText({ text }: { readonly text: string }) {
  const chunks = useMemo(() => chunksOf(text), [text])
  if (chunks.length === 1) return text
  return chunks.map((chunk, place) => (
    <span key={place} className="block" style={laidOutInSight(chunk)}>
      {chunk}
    </span>
  ))
})

/** Returns the style of a part of a long text that is laid out only near the window. Until then its height is estimated. */
export function laidOutInSight(text: string): { readonly contentVisibility: 'auto'; readonly containIntrinsicBlockSize: string } {
  const lines = text.split('\n').reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / lineCharacters)), 0)
  return { contentVisibility: 'auto', containIntrinsicBlockSize: `auto ${lines * linePixels}px` }
}

function chunksOf(text: string): readonly string[] {
  const chunks: string[] = []
  let from = 0
  while (text.length - from > 2 * chunkCharacters) {
    const line = text.lastIndexOf('\n', from + 2 * chunkCharacters) + 1
    const to = line > from + chunkCharacters ? line : from + 2 * chunkCharacters
    chunks.push(text.slice(from, to))
    from = to
  }
  return [...chunks, text.slice(from)]
}
