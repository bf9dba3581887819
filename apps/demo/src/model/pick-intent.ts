import { fallback } from './fallback.ts'
import { indexDocs } from './index-docs.ts'
import type { Intent } from './intent.ts'
import { invoice } from './invoice.ts'
import { location } from './location.ts'
import { story } from './story.ts'
import { weather } from './weather.ts'

const intents: readonly Intent[] = [weather, indexDocs, location, invoice, story]

/** The first intent whose key words are in the text; the fallback understands everything. */
export function pickIntent(text: string): Intent {
  return intents.find((intent) => intent.keyWords.test(text)) ?? fallback
}
