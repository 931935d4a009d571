#!/bin/sh
# hourly_load.sh > hourly.csv: 500 days of synthetic hourly electricity load, and the temperature that drives it.
#
# load = day shape · (weekday or weekend factor) + heating below 15 °C + cooling above 22 °C + noise; temperature = annual cycle
# + daily cycle + weather, where weather ← 0.99 · weather + noise. The random generator is Park and Miller's
# x ← 16807 x mod (2³¹ - 1).

LC_ALL=C awk 'BEGIN {
  pi = atan2(0, -1); seed = 1; weather = 0
  split("0 31 59 90 120 151 181 212 243 273 304 334", before_month)
  print "time,load,temperature"
  for (hour = 0; hour < 500 * 24; ++hour) {
    day = int(hour / 24); clock = hour % 24; year = 2023 + (day >= 365); of_year = day % 365   # 2023 begins on a Sunday
    weather = 0.99 * weather + 0.7 * noise()
    temperature = 11 - 10 * cos(2 * pi * (of_year - 20) / 365) - 4 * cos(2 * pi * (clock - 3) / 24) + weather
    shape = 50 - 9 * cos(2 * pi * (clock - 3) / 24) - 5 * cos(4 * pi * (clock - 2) / 24)
    weekend = day % 7 == 0 || day % 7 == 6
    heating = temperature < 15 ? 0.8 * (15 - temperature) : 0
    cooling = temperature > 22 ? 1.2 * (temperature - 22) : 0
    load = (weekend ? 0.82 : 1) * shape + heating + cooling + 0.7 * noise()
    month = 12
    leap = year == 2024 && of_year >= 59 ? 1 : 0     # 29 February
    while (month > 1 && of_year - leap < before_month[month]) --month
    of_month = of_year + 1 - before_month[month] - (month > 2 ? leap : 0)
    printf "%d-%02d-%02dT%02d:00Z,%.1f,%.1f\n", year, month, of_month, clock, load, temperature
  }
}
# A random number of mean 0 and variance 1: the sum of twelve uniform numbers, minus 6.
function noise(  i, sum) {
  for (i = 0; i < 12; ++i) { seed = (16807 * seed) % 2147483647; sum += seed / 2147483647 }
  return sum - 6
}'
