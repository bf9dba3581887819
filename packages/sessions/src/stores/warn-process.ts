/** Where warnings go if the host takes none. */
export function warnProcess(message: string): void {
  process.emitWarning(message, 'BowlineWarning')
}
