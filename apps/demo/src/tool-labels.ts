const labels: Readonly<Record<string, string>> = {
  get_weather: 'Weather',
  index_docs: 'Index the docs',
  get_location: 'Ask the browser for a place',
  pay_invoice: 'Pay the invoice',
}

/** What people call a tool. A tool that only the browser can run has no start event that would say it. */
export function toolLabel(toolName: string): string {
  return labels[toolName] ?? toolName
}
