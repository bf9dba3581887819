import type { SharedV4FileDataData, SharedV4FileDataUrl } from '@ai-sdk/provider'
import { LlmError } from '../model-error.ts'
import type { FileData } from '../messages.ts'

/** A file as providers take it. URLs are passed on, never opened. */
export function toPromptFileData(data: FileData): SharedV4FileDataData | SharedV4FileDataUrl {
  if (data.type === 'data') return { type: 'data', data: data.data }
  if (!URL.canParse(data.url)) throw new LlmError('USAGE', `a file of the transcript has a URL that is none: ${data.url.slice(0, 200)}`)
  const url = new URL(data.url)
  return { type: 'url', url, ...(url.href !== data.url && { originalUrl: data.url }) }
}
