import { existsSync, statSync } from 'node:fs'
import { join, posix } from 'node:path'
import type { MarkdownRenderer } from 'vitepress'

export interface Place {
  /** Absolute folder of the repository. */
  readonly root: string
  /** Address of the repository on GitHub. */
  readonly repository: string
  readonly pages: readonly { readonly file: string; readonly route: string }[]
}

/** Turns what is written for GitHub into what a site needs: links to its pages, and no header cells without text. */
export function adaptToSite(markdown: MarkdownRenderer, place: Place): void {
  markdown.core.ruler.push('adapt-to-site', ({ tokens, env }) => {
    const { realPath } = env as { readonly realPath?: string }
    if (realPath === undefined) return
    const file = posix.relative(place.root, realPath)
    tokens.forEach((token, index) => {
      // A screen reader announces a header; an empty one is an ordinary cell.
      if (token.type === 'inline' && token.content === '' && tokens[index - 1]?.type === 'th_open') for (const cell of [tokens[index - 1], tokens[index + 1]]) if (cell) cell.tag = 'td'
    })
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const href = token.attrGet('href')
      if (token.type === 'link_open' && href !== null) token.attrSet('href', linkOfTheSite(href, file, place))
    }
  })
}

/**
 * Makes a link of the site from one between files of the repository. A folder leads to its first page. A file that is no page
 * leads to GitHub. A link to a file that does not exist stays as it is.
 */
export function linkOfTheSite(href: string, file: string, { root, repository, pages }: Place): string {
  if (/^(?:#|[a-z]+:)/i.test(href)) return href
  const [, path = '', hash = ''] = /^([^#]*)(#.*)?$/.exec(href) ?? []
  const target = posix.join(posix.dirname(file), decodeURI(path)).replace(/\/$/, '')
  const page = pages.find((other) => other.file === target) ?? pages.find((other) => other.file.startsWith(`${target}/`))
  if (page !== undefined) return `/${page.route}.md${hash}`
  const found = join(root, target)
  if (!existsSync(found)) return href
  return `${repository}/${statSync(found).isDirectory() ? 'tree' : 'blob'}/main/${target}${hash}`
}
