import { cpSync, existsSync, globSync } from 'node:fs'
import { join } from 'node:path'
import { slug } from 'github-slugger'
import { defineConfig } from 'vitepress'
import { root } from '../../../scripts/setup.mjs'
import { firstSentenceOf, sectionsOf, textOf } from '../../../scripts/pages.mjs'
import { adaptToSite } from '../src/markdown.ts'

const repository = 'https://github.com/bowline-dev/bowline'
const apiReference = join(root, 'docs/api')

const sections = sectionsOf()
const pages = sections.flatMap((section) => section.pages)
const files = new Set(pages.map(({ file }) => file))

export default defineConfig({
  title: 'Bowline',
  description: firstSentenceOf(textOf('README.md')),
  lang: 'en',
  // The pages stay at the paths that GitHub and the packages use.
  srcDir: '../..',
  srcExclude: globSync('**/*.md', { cwd: root, exclude: (name) => name === 'node_modules' }).filter((file) => !files.has(file)),
  rewrites: Object.fromEntries(pages.map(({ file, route }) => [file, `${route}.md`])),
  outDir: './dist',
  cacheDir: '../../node_modules/.cache/bowline/site',
  // Relative, so that the site works in any folder of any host.
  base: './',
  // Otherwise VitePress loads each config.ts of the repository.
  additionalConfig: {},
  // The list of pages is long, and all visible ones would be prefetched.
  router: { prefetchLinks: false },
  vite: {
    // The search index is large. It is loaded when a reader searches.
    build: { chunkSizeWarningLimit: 2_000 },
    // Otherwise Vite reads each HTML file of the repository.
    optimizeDeps: { entries: [] },
  },
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    // Anchors equal those of GitHub.
    anchor: { slugify: slug },
    config: (markdown) => adaptToSite(markdown, { root, repository, pages }),
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Guide', link: '/' },
      { text: 'API', link: '/api/index.html', target: '_self' },
    ],
    sidebar: sections.map(({ title, isOptional, pages: own }) => ({
      text: title,
      collapsed: isOptional,
      items: own.map((page) => ({ text: page.title, link: `/${page.route === 'index' ? '' : page.route}` })),
    })),
    editLink: { pattern: `${repository}/edit/main/:path`, text: 'Edit this page' },
    socialLinks: [{ icon: 'github', link: repository }],
  },
  transformPageData: ({ filePath }) => ({ description: firstSentenceOf(textOf(filePath)) }),
  buildEnd({ outDir }) {
    if (!existsSync(apiReference)) throw new Error('There is no API reference in docs/api. Make it first: npm test -- docs')
    cpSync(apiReference, join(outDir, 'api'), { recursive: true })
    // Programs read the pages as plain Markdown.
    for (const file of ['llms.txt', 'llms-full.txt', ...files]) cpSync(join(root, file), join(outDir, file))
  },
})
