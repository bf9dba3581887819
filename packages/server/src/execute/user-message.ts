import type { ImagePart, UserInput, UserMessageInput } from '@bowline/client'
import { fileOfImage } from '@bowline/llm/arguments'

type InputContent = Exclude<UserInput, string>['content']

/** Returns an input in the stored form: a text becomes a message, and images become files. */
export function userMessageOf(input: UserInput): UserMessageInput {
  return typeof input === 'string' ? { role: 'user', content: input } : { role: 'user', content: contentOf(input.content) }
}

export function contentOf(content: InputContent): UserMessageInput['content'] {
  return typeof content === 'string' ? content : content.map((part) => (part.type === 'image' ? fileOf(part) : part))
}

/** Returns the image as a file. The image must have been validated. */
export function fileOf(image: ImagePart): Extract<Exclude<UserMessageInput['content'], string>[number], { type: 'file' }> {
  const file = fileOfImage(image)
  if (!file) throw new TypeError('the image was not validated')
  return file
}
