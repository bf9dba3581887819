import type { ImagePart, UserInput, UserMessageInput } from '@bowline/client'

type InputContent = Exclude<UserInput, string>['content']
type FilePart = Extract<Exclude<UserMessageInput['content'], string>[number], { type: 'file' }>

/** Returns an input in the stored form: a text becomes a message, and images become files. */
export function userMessageOf(input: UserInput): UserMessageInput {
  return typeof input === 'string' ? { role: 'user', content: input } : { role: 'user', content: contentOf(input.content) }
}

export function contentOf(content: InputContent): UserMessageInput['content'] {
  return typeof content === 'string' ? content : content.map((part) => (part.type === 'image' ? fileOf(part) : part))
}

/** Image types by the first characters of the base64 data. */
const signatures = { iVBORw0KGgo: 'png', '/9j/': 'jpeg', R0lGOD: 'gif', UklGR: 'webp' } as const
const ofUnknownKind = 'image/*'

/** Returns the image as a file. The image must have been validated. */
export function fileOf({ image, mediaType }: ImagePart): FilePart {
  if (/^https?:/i.test(image)) return { type: 'file', mediaType: mediaType ?? ofUnknownKind, data: { type: 'url', url: image } }
  const comma = image.indexOf(',')
  const said = comma < 0 ? undefined : image.slice('data:'.length, image.indexOf(';'))
  const data = image.slice(comma + 1)
  const signature = Object.entries(signatures).find(([start]) => data.startsWith(start))
  return { type: 'file', mediaType: mediaType ?? said ?? (signature ? `image/${signature[1]}` : ofUnknownKind), data: { type: 'data', data } }
}
