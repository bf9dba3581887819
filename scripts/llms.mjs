// npm run llms: writes llms.txt (one line per page) and llms-full.txt (the text of all pages that are not optional).
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { firstSentenceOf, sectionsOf, textOf } from './pages.mjs'
import { root } from './setup.mjs'

/**
 * Returns the required content of the files, by name.
 *
 * @param {string} [folder] the root of the repository
 * @returns {Record<string, string>}
 */
export function llmsFiles(folder = root) {
  const sections = sectionsOf(folder)
  const intro = firstSentenceOf(textOf('README.md', folder))
  /** @param {boolean} optional */
  const lists = (optional) => sections.filter(({ isOptional }) => isOptional === optional)
  /** @param {import('./pages.mjs').Page} page */
  const line = ({ file, title }) => `- [${title}](${file}): ${firstSentenceOf(textOf(file, folder))}\n`
  return {
    'llms.txt': [
      `# Bowline\n\n> ${intro}\n\nAll pages in one file: [llms-full.txt](llms-full.txt)\n`,
      ...lists(false).map(({ title, pages }) => `## ${title}\n\n${pages.map(line).join('')}`),
      // Readers recognize by this heading the pages that they may leave out.
      `## Optional\n\n${lists(true)
        .flatMap(({ pages }) => pages.map(line))
        .join('')}`,
    ].join('\n'),
    'llms-full.txt': [
      `# Bowline\n\n> ${intro}\n\nEach page begins with its file; links in it are relative to that file.\n`,
      ...lists(false).flatMap(({ pages }) => pages.map(({ file }) => `---\nFile: ${file}\n---\n\n${textOf(file, folder).trim()}\n`)),
    ].join('\n'),
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [name, text] of Object.entries(llmsFiles())) writeFileSync(join(root, name), text)
}
