import type { SharedV4FileDataData, SharedV4FileDataUrl } from '@ai-sdk/provider'
import type { FileData } from '../messages.ts'

/** A file as providers take it; `undefined` for a URL that is none. URLs are passed on, never opened. */
export function toPromptFileData(data: FileData): SharedV4FileDataData | SharedV4FileDataUrl | undefined {
  if (data.type === 'data') return { type: 'data', data: data.data }
  if (!URL.canParse(data.url)) return undefined
  const url = new URL(data.url)
  return { type: 'url', url, ...(url.href !== data.url && { originalUrl: data.url }) }
}
