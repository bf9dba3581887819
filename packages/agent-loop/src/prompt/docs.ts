import { fileReader } from './file-reader.ts'
import type { DocsSection } from './sections.ts'

/** Empty while the folder is not there. */
export async function docsText({ folder, topics = [] }: DocsSection): Promise<string> {
  if (!(await fileReader().isFolder(folder))) return ''
  const place = `The documentation is in the folder ${folder}.`
  return topics.length === 0 ? place : `${place} Its topics: ${topics.join(', ')}.`
}
