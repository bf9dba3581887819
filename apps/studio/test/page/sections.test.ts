import { describe, expect, it } from 'vitest'
import { createSections, hasDefinitions, mostCharacters } from '../../src/page/conversation/sections.ts'

const chapter = (number: number): string => `## Part ${number}

A paragraph with **bold** words and [a link](https://example.com), which goes on for a while so that it takes two lines.

- one
- two

1. first

2. second

| a | b |
| --- | --- |
| ${number} | ${number + 1} |

\`\`\`ts
const knot = tie(${number})

tie(knot)
\`\`\`

`

const chapters = (count: number): string => Array.from({ length: count }, (_, number) => chapter(number)).join('')

/** Returns the sections of a text that grows by this number of characters each time. */
function growing(text: string, characters: number): readonly string[] {
  const sectionsOf = createSections()
  for (let length = characters; length < text.length; length += characters) sectionsOf(text.slice(0, length))
  const { settled, open } = sectionsOf(text)
  return [...settled, open]
}

function atOnce(text: string): readonly string[] {
  const { settled, open } = createSections()(text)
  return [...settled, open]
}

describe('sections of Markdown', () => {
  it('D10: a finished section never changes, and the open one stays short however long the text is', () => {
    const text = chapters(400)
    const sectionsOf = createSections()
    let before: readonly string[] = []
    for (let length = 0; length < text.length; length += 37) {
      const { settled, open } = sectionsOf(text.slice(0, length))
      expect(open.length).toBeLessThan(mostCharacters)
      if (settled === before) continue
      expect(settled.slice(0, before.length)).toEqual(before)
      before = settled
    }
    expect(before.length).toBeGreaterThan(20)
  })

  it('D10: the sections are the same whether the text came in pieces or whole, and joined they equal the text', () => {
    const text = chapters(60)
    const whole = atOnce(text)
    expect(whole.join('')).toBe(text)
    for (const characters of [1, 7, 64, 5000]) expect(growing(text, characters)).toEqual(whole)
  })

  it('D11: a section ends between blocks: no list, table or code is split', () => {
    for (const section of atOnce(chapters(60)).slice(1)) expect(section).toMatch(/^(##|A paragraph|- one|1\. first|\||```ts)/)
    for (const section of atOnce(chapters(60))) expect(section.split('```').length % 2).toBe(1)
  })

  it('D11: code that is too long for one frame is closed and opened again', () => {
    const lines = Array.from({ length: 4000 }, (_, number) => `line ${number}`).join('\n')
    const sections = atOnce(`~~~ts\n${lines}\n~~~\n`)
    expect(sections.length).toBeGreaterThan(3)
    for (const section of sections) expect(section).toMatch(/^~~~ts\n[^]*\n~~~\n$/)
    expect(sections.join('').replaceAll('~~~\n~~~ts\n', '')).toBe(`~~~ts\n${lines}\n~~~\n`)
  })

  it('D11: the next rows of a long table get its head, and other text is cut between two lines', () => {
    const rows = Array.from({ length: 2000 }, (_, number) => `| ${number} | knot |\n`).join('')
    for (const section of atOnce(`| a | b |\n| --- | --- |\n${rows}`))
      expect(section).toMatch(/^\| a \| b \|\n\| --- \| --- \|\n(\| \d+ \| knot \|\n)+$/)
    const text = Array.from({ length: 2000 }, (_, number) => `a line of one paragraph, ${number}\n`).join('')
    const parts = atOnce(text)
    expect(parts.join('')).toBe(text)
    expect(Math.max(...parts.map(({ length }) => length))).toBeLessThanOrEqual(mostCharacters)
    const oneLine = 'knot '.repeat(10_000)
    expect(atOnce(oneLine).join('')).toBe(oneLine)
  })

  it('a text that starts anew is read anew, and line ends of Windows count as one', () => {
    const sectionsOf = createSections()
    sectionsOf(chapters(60))
    expect(sectionsOf('short')).toEqual({ settled: [], open: 'short' })
    expect(atOnce(chapters(60).replaceAll('\n', '\r\n'))).toEqual(atOnce(chapters(60)))
  })

  it('detects a text whose parts depend on each other', () => {
    expect(hasDefinitions('see [a]\n\n[a]: https://example.com')).toBe(true)
    expect(hasDefinitions('a note[^1]\n\n[^1]: below')).toBe(true)
    expect(hasDefinitions(chapters(3))).toBe(false)
  })
})
