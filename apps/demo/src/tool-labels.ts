const labels: Readonly<Record<string, string>> = {
  get_weather: 'Weather',
  index_docs: 'Index the docs',
  get_location: 'Ask the browser for a place',
  delete_report: 'Delete a report',
  delegate_to_researcher: 'Send the researcher',
  background_output: 'Read what was found',
  search_library: 'Search the library',
  read_page: 'Read a page',
  delegate: 'Ask another agent',
  plan_start: 'Begin a plan',
  plan_tide: 'Look at the tide',
  plan_crew: 'Count the crew',
  plan_write: 'Write the plan',
  plan_review: 'Review the plan',
  read_logbook: 'Read the logbook',
  pay_invoice: 'Pay the invoice',
}

/** Returns the label of a tool. A browser tool has no start event that would contain it. */
export function toolLabel(toolName: string): string {
  return labels[toolName] ?? toolName
}
