/** The worker said something that is no message of the protocol. Its text says what, without quoting it. */
export class BrokenFrame extends Error {
  override readonly name = 'BrokenFrame'
}
