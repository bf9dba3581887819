/** Thrown if a worker sends something that is not a protocol message. The text describes it without quoting it. */
export class BrokenFrame extends Error {
  override readonly name = 'BrokenFrame'
}
