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

/** Adapts Markdown for GitHub to the site: links go to pages of the site, and empty header cells become ordinary cells. */
export function adaptToSite(markdown: MarkdownRenderer, place: Place): void {
  markdown.core.ruler.push('adapt-to-site', ({ tokens, env }) => {
    const { realPath } = env as { readonly realPath?: string }
    if (realPath === undefined) return
    const file = posix.relative(place.root, realPath)
    tokens.forEach((token, index) => {
      // Screen readers announce header cells, so an empty one becomes an ordinary cell.
      if (token.type === 'inline' && token.content === '' && tokens[index - 1]?.type === 'th_open')
        for (const cell of [tokens[index - 1], tokens[index + 1]]) if (cell) cell.tag = 'td'
    })
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const href = token.attrGet('href')
      if (token.type === 'link_open' && href !== null) token.attrSet('href', linkOfTheSite(href, file, place))
    }
  })
}

/**
 * Converts a link between files of the repository, also one that names the file on GitHub, to a link of the site. A folder becomes
 * its first page. A file that is not a page becomes a GitHub link. A link to a file that does not exist stays unchanged.
 */
export function linkOfTheSite(href: string, file: string, { root, repository, pages }: Place): string {
  const onGitHub = `${repository}/blob/main/`
  const isOwn = href.startsWith(onGitHub)
  if (/^(?:#|[a-z]+:)/i.test(href) && !isOwn) return href
  const [, path = '', hash = ''] = /^([^#]*)(#.*)?$/.exec(isOwn ? href.slice(onGitHub.length) : href) ?? []
  const target = posix.join(isOwn ? '.' : posix.dirname(file), decodeURI(path)).replace(/\/$/, '')
  const page = pages.find((other) => other.file === target) ?? pages.find((other) => other.file.startsWith(`${target}/`))
  if (page !== undefined) return `/${page.route}.md${hash}`
  const found = join(root, target)
  if (!existsSync(found)) return href
  return `${repository}/${statSync(found).isDirectory() ? 'tree' : 'blob'}/main/${target}${hash}`
}
