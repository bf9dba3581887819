import { createHighlighterCore } from 'shiki/core'
import type { HighlighterCore } from 'shiki/core'
import { createJavaScriptRegexEngine } from 'shiki/engine/javascript'
import { loadCode } from './load-patiently.ts'

/** Pieces of a line of code, each with the styles of its colour. */
export type ColouredLine = readonly { readonly content: string; readonly style?: Readonly<Record<string, string>> }[]

const languages = {
  bash: () => import('shiki/langs/bash.mjs'),
  css: () => import('shiki/langs/css.mjs'),
  html: () => import('shiki/langs/html.mjs'),
  javascript: () => import('shiki/langs/javascript.mjs'),
  json: () => import('shiki/langs/json.mjs'),
  python: () => import('shiki/langs/python.mjs'),
  sql: () => import('shiki/langs/sql.mjs'),
  tsx: () => import('shiki/langs/tsx.mjs'),
  typescript: () => import('shiki/langs/typescript.mjs'),
  yaml: () => import('shiki/langs/yaml.mjs'),
}

type Language = keyof typeof languages

const aliases: Readonly<Record<string, Language>> = {
  js: 'javascript',
  py: 'python',
  sh: 'bash',
  shell: 'bash',
  ts: 'typescript',
  yml: 'yaml',
}

let highlighter: Promise<HighlighterCore> | undefined

/** Returns the lines of the code with colours for light and dark. Returns undefined for an unknown language. */
export async function highlight(code: string, name: string): Promise<readonly ColouredLine[] | undefined> {
  const language = aliases[name] ?? name
  if (!Object.hasOwn(languages, language)) return undefined
  highlighter ??= newHighlighter()
  const shiki = await highlighter
  await shiki.loadLanguage(await loadCode(languages[language as Language]))
  const { tokens } = shiki.codeToTokens(code, {
    lang: language,
    themes: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    defaultColor: 'light-dark()',
  })
  return tokens.map((line) =>
    line.map(({ content, htmlStyle }) => ({ content, ...(htmlStyle && { style: { color: htmlStyle['color'] ?? '' } }) })),
  )
}

async function newHighlighter(): Promise<HighlighterCore> {
  const themes = await loadCode(() =>
    Promise.all([import('shiki/themes/github-light-high-contrast.mjs'), import('shiki/themes/github-dark-high-contrast.mjs')]),
  )
  // This engine needs no WebAssembly, which the content security policy of the page forbids.
  return createHighlighterCore({ themes, engine: createJavaScriptRegexEngine({ forgiving: true }) })
}
