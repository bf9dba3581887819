import { delegate, opinion } from './delegate.ts'
import { deleteReport } from './delete-report.ts'
import { fallback } from './fallback.ts'
import { indexDocs } from './index-docs.ts'
import type { Intent } from './intent.ts'
import { invoice } from './invoice.ts'
import { location } from './location.ts'
import { longTalk, summary } from './long-talk.ts'
import { plan } from './plan.ts'
import { library, news, research } from './research.ts'
import { story } from './story.ts'
import { fail, slow } from './trouble.ts'
import { weather } from './weather.ts'

/** Intents of programs come first: their texts may quote anything that users say. */
const intents: readonly Intent[] = [
  ...[summary, news, library, opinion],
  ...[weather, indexDocs, location, deleteReport, research, delegate, plan, longTalk, invoice, story, fail, slow],
]

/** Returns the first intent whose key words are in the text. The fallback matches every text. */
export function pickIntent(text: string): Intent {
  return intents.find((intent) => intent.keyWords.test(text)) ?? fallback
}
