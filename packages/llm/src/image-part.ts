import type { FilePart, ImagePart } from './messages.ts'

const form = /^(?:https?:\/\/.*|(?:data:image\/[^;,]+(?:;[^;,]+)*;base64,)?[A-Za-z0-9+/]+={0,2})$/i
/** Image types by the first characters of the base64 data. */
const signatures = { iVBORw0KGgo: 'png', '/9j/': 'jpeg', R0lGOD: 'gif', UklGR: 'webp' } as const
const ofUnknownKind = 'image/*'

/**
 * Returns an image of an input as the file part that is stored, with its other fields. Returns undefined if its data is not an
 * image: base64, a data URL of an image in base64, or an http(s) URL. Does not check the other fields.
 */
export function fileOfImage({ image, mediaType, ...others }: ImagePart): FilePart | undefined {
  if (typeof image !== 'string' || !form.test(image)) return undefined
  const file = (found: string, data: FilePart['data']): FilePart => ({ ...others, type: 'file', mediaType: mediaType ?? found, data })
  if (/^https?:/i.test(image)) return file(ofUnknownKind, { type: 'url', url: image })
  const comma = image.indexOf(',')
  const data = image.slice(comma + 1)
  const signature = Object.entries(signatures).find(([start]) => data.startsWith(start))
  const found = signature ? `image/${signature[1]}` : ofUnknownKind
  return file(comma < 0 ? found : image.slice('data:'.length, image.indexOf(';')), { type: 'data', data })
}
