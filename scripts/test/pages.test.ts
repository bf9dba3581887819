import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, posix } from 'node:path'
import GithubSlugger from 'github-slugger'
import MarkdownIt from 'markdown-it'
import { describe, expect, it } from 'vitest'
import { llmsFiles } from '../llms.mjs'
import { firstSentenceOf, sectionsOf } from '../pages.mjs'

const root = join(import.meta.dirname, '../..')
const markdown = new MarkdownIt({ html: true })

interface Link {
  readonly href: string
  readonly line: number
}

interface Outline {
  readonly links: readonly Link[]
  readonly anchors: ReadonlySet<string>
}

function outlineOf(text: string): Outline {
  const slugger = new GithubSlugger()
  // Front matter is not a heading.
  const tokens = markdown.parse(
    text.replace(/^---\n[\s\S]*?\n---\n/, (front) => '\n'.repeat(front.split('\n').length - 1)),
    {},
  )
  const headings = tokens.flatMap((token, index) => (tokens[index - 1]?.type === 'heading_open' ? [token] : []))
  const slugs = headings.map(({ children }) =>
    slugger.slug(
      (children ?? [])
        .filter(({ type }) => type === 'text' || type === 'code_inline')
        .map(({ content }) => content)
        .join(''),
    ),
  )
  const html = tokens
    .flatMap((token) => [token, ...(token.children ?? [])])
    .filter(({ type }) => type.startsWith('html_'))
    .flatMap(({ content }) => [...content.matchAll(/\bid="([^"]+)"/g)].map(([, id = '']) => id))
  const links = tokens.flatMap(({ children, map }) =>
    (children ?? []).flatMap((token) => {
      const href = token.attrGet('href') ?? token.attrGet('src')
      return href === null ? [] : [{ href, line: (map?.[0] ?? 0) + 1 }]
    }),
  )
  return { links, anchors: new Set([...slugs, ...html]) }
}

/** READMEs of packages name pages in this way, so that their links work on npm too. */
const onGitHub = /^https:\/\/github\.com\/bowline-dev\/bowline\/(?:blob|tree)\/main\//

/** Returns a line for each broken link. Links to other hosts are not checked. */
function deadLinks(folder: string, files: readonly string[]): readonly string[] {
  const outlines = new Map(files.map((file) => [file, outlineOf(readFileSync(join(folder, file), 'utf8'))]))
  const isDead = (file: string, href: string): boolean => {
    const isOwn = onGitHub.test(href)
    if (/^[a-z]+:/i.test(href) && !isOwn) return false
    const [path = '', anchor] = href.replace(onGitHub, '').split('#')
    const target = path === '' ? file : posix.join(isOwn ? '.' : posix.dirname(file), decodeURI(path))
    if (target.startsWith('../') || !existsSync(join(folder, target))) return true
    const outline = outlines.get(target)
    return outline !== undefined && anchor !== undefined && !outline.anchors.has(decodeURIComponent(anchor))
  }
  return [...outlines].flatMap(([file, { links }]) =>
    links.flatMap(({ href, line }) => (isDead(file, href) ? [`${file}:${line} links to ${href}`] : [])),
  )
}

/** Returns all Markdown files that git tracks or will track, except generated ones: changelogs and API reports. */
function markdownFiles(): readonly string[] {
  const { stdout } = spawnSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '--', '*.md'], {
    cwd: root,
    encoding: 'utf8',
  })
  return stdout.split('\n').filter((file) => file !== '' && existsSync(join(root, file)) && !/\/(?:CHANGELOG|api)\.md$/.test(file))
}

describe('links of Markdown files', () => {
  it('D47: lead to a file and a heading of the repository', () => {
    const files = markdownFiles()
    expect(files).toContain('docs/quick-start.md')
    expect(deadLinks(root, files)).toEqual([])
  })

  it('D47: dead links are reported with file and line', () => {
    const folder = mkdtempSync(join(tmpdir(), 'bowline-links-'))
    const write = (file: string, text: string): void => {
      mkdirSync(dirname(join(folder, file)), { recursive: true })
      writeFileSync(join(folder, file), text)
    }
    try {
      write(
        'docs/a.md',
        '---\ntitle: A\n---\n# A `b`: c\n\n[ok](#a-b-c) [ok](../b.md#twice-1) [ok](../src/) [ok](https://example.org/#no) [ok](https://github.com/bowline-dev/bowline/blob/main/b.md#twice)\n[dead](#a) [dead](https://github.com/bowline-dev/bowline/blob/main/b.md#no) [dead](../b.md#thrice)\n\n[dead](b.md) ![dead](c.png) [dead](../../etc)\n\n`[code](none.md)`\n',
      )
      write('b.md', '# Twice\n\n## Twice\n\n<a id="here"></a> [ok][a] [ok](#here) [dead][b]\n\n[a]: docs/a.md#a-b-c\n[b]: docs/a.md#b\n')
      write('src/index.ts', '')
      expect(deadLinks(folder, ['docs/a.md', 'b.md'])).toEqual([
        'docs/a.md:6 links to #a',
        'docs/a.md:6 links to https://github.com/bowline-dev/bowline/blob/main/b.md#no',
        'docs/a.md:6 links to ../b.md#thrice',
        'docs/a.md:9 links to b.md',
        'docs/a.md:9 links to c.png',
        'docs/a.md:9 links to ../../etc',
        'b.md:5 links to docs/a.md#b',
      ])
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

describe('the table of contents', () => {
  const pages = sectionsOf().flatMap((section) => section.pages)

  it('has every Markdown file of the repository once, with a title and a unique address', () => {
    const files = markdownFiles().filter((file) => !file.startsWith('.'))
    expect(pages.map(({ file }) => file).sort(), 'List the page in scripts/pages.mjs').toEqual([...files].sort())
    expect(pages.filter(({ title }) => title === '')).toEqual([])
    expect(new Set(pages.map(({ route }) => route)).size).toBe(pages.length)
  })

  it('lists existing files, in the order of reading', () => {
    const folder = mkdtempSync(join(tmpdir(), 'bowline-pages-'))
    try {
      const files = [
        'docs/guides/b.md',
        'docs/guides/a.md',
        'docs/guides/tools.md',
        'docs/concepts.md',
        'packages/llm/README.md',
        'packages/agent-loop/README.md',
        'README.md',
      ]
      for (const file of files) {
        mkdirSync(dirname(join(folder, file)), { recursive: true })
        writeFileSync(join(folder, file), `# Of \`${file}\`\n`)
      }
      expect(sectionsOf(folder).map(({ title, pages: own }) => [title, ...own.map(({ route }) => route)])).toEqual([
        ['Start', 'index', 'concepts'],
        ['Agents', 'guides/tools'],
        ['Bridge, server, client', 'guides/a', 'guides/b'],
        ['Packages', 'packages/llm', 'packages/agent-loop'],
      ])
      expect(sectionsOf(folder)[0]?.pages[0]?.title).toBe('Of `README.md`')
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it.each([
    ['# A\n\nOne fact, with `b.c` and\n[a link](x.md). Another.\n', 'One fact, with `b.c` and a link.'],
    ['---\nx: 1\n---\n# A\n\n```ts\nNo.\n```\n\n| no |\n\n**Runs** as it stands:\n\n- no\n', 'Runs as it stands.'],
    ['# A\n\n## B\n', ''],
  ])('the first sentence of %j is %j', (text, sentence) => {
    expect(firstSentenceOf(text)).toBe(sentence)
  })
})

describe('files for machines', () => {
  const files = llmsFiles()

  it.each(Object.keys(files))('D47: %s matches its pages', (name) => {
    const written = existsSync(join(root, name)) ? readFileSync(join(root, name), 'utf8') : ''
    expect(written === files[name], `${name} is out of date. Run npm run llms and commit what it writes`).toBe(true)
  })

  it('D47: the list has a line for each page, and the text has each page that is not optional', () => {
    for (const { isOptional, pages } of sectionsOf()) {
      for (const { file, title } of pages) {
        expect(files['llms.txt']).toContain(`- [${title}](${file}): `)
        expect(files['llms-full.txt']?.includes(`\nFile: ${file}\n`), file).toBe(!isOptional)
      }
    }
  })
})
