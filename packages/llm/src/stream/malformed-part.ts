/** A provider part that breaks the contract of the stream. Ends the message as `malformed-response`. */
export class MalformedPart extends Error {
  override readonly name = 'MalformedPart'
}
