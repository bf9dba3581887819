import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { expect, it } from 'vitest'
import { sectionsOf } from '../../../scripts/pages.mjs'
import { linkOfTheSite } from '../src/markdown.ts'
import type { Place } from '../src/markdown.ts'

const site = join(import.meta.dirname, '../dist')
const pages = sectionsOf().flatMap((section) => section.pages)

/** Returns the requests of a browser for the links, and their anchors. */
function linksOf(html: string): readonly { readonly path: string; readonly anchor: string }[] {
  const addresses = [...html.matchAll(/<a\b[^>]*? href="([^"]*)"/g)].map(([, href = '']) => href.replaceAll('&amp;', '&'))
  return addresses
    .filter((href) => !/^[a-z]+:/i.test(href))
    .map((href) => {
      const [path = '', anchor = ''] = href.split('#')
      return { path: decodeURI(path), anchor: decodeURIComponent(anchor) }
    })
}

function anchorsOf(html: string): ReadonlySet<string> {
  return new Set([...html.matchAll(/ id="([^"]*)"/g)].map(([, id = '']) => id))
}

it('D47: every link of a page leads to a page, a file or a heading of the site', () => {
  const anchors = new Map<string, ReadonlySet<string>>()
  const dead = pages.flatMap(({ file, route }) => {
    const from = `${route}.html`
    return linksOf(readFileSync(join(site, from), 'utf8')).flatMap(({ path, anchor }) => {
      const to = path === '' ? from : posix.join(posix.dirname(from), path.endsWith('/') ? `${path}index.html` : path)
      if (!existsSync(join(site, to))) return [`${file} links to ${path}, which is not on the site`]
      if (anchor === '') return []
      if (!anchors.has(to)) anchors.set(to, anchorsOf(readFileSync(join(site, to), 'utf8')))
      return anchors.get(to)?.has(anchor) ? [] : [`${file} links to #${anchor} of ${to}, which has no such heading`]
    })
  })
  expect(dead).toEqual([])
})

const place: Place = {
  root: join(import.meta.dirname, '../../..'),
  repository: 'https://example.org/bowline',
  pages: [
    { file: 'README.md', route: 'index' },
    { file: 'docs/guides/first.md', route: 'guides/first' },
    { file: 'packages/llm/README.md', route: 'packages/llm' },
  ],
}

it.each([
  ['docs/guides/first.md', '../../packages/llm/README.md#install', '/packages/llm.md#install'],
  ['docs/guides/first.md', '../../README.md', '/index.md'],
  ['README.md', 'docs/guides/', '/guides/first.md'],
  ['packages/llm/README.md', 'https://example.org/bowline/blob/main/docs/guides/first.md#install', '/guides/first.md#install'],
  ['packages/llm/README.md', 'https://example.org/bowline/blob/main/LICENSE', 'https://example.org/bowline/blob/main/LICENSE'],
  ['README.md', 'LICENSE', 'https://example.org/bowline/blob/main/LICENSE'],
  ['packages/llm/README.md', 'src/index.ts#L3', 'https://example.org/bowline/blob/main/packages/llm/src/index.ts#L3'],
  ['packages/llm/README.md', 'src', 'https://example.org/bowline/tree/main/packages/llm/src'],
  ['README.md', 'no-such-file.md', 'no-such-file.md'],
  ['README.md', '#here', '#here'],
  ['README.md', 'https://example.org/', 'https://example.org/'],
])('in %s a link to %s becomes %s', (file, href, link) => {
  expect(linkOfTheSite(href, file, place)).toBe(link)
})
