import type { DocsSection } from '../../contract/prompt.ts'
import { fileReader } from './file-reader.ts'

/** Empty while the folder is not there. */
export async function docsText({ folder, topics = [] }: DocsSection): Promise<string> {
  if (!(await fileReader().isFolder(folder))) return ''
  const place = `The documentation is in the folder ${folder}.`
  return topics.length === 0 ? place : `${place} Its topics: ${topics.join(', ')}.`
}
