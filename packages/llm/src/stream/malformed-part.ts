/** Thrown for a provider part that violates the stream contract. Ends the message as `malformed-response`. */
export class MalformedPart extends Error {
  override readonly name = 'MalformedPart'
}
