# Draws tests/bench/results/rate_by_fill.svg, in the folder where rates.py has written its CSV.
set terminal svg size 720,480 font "sans-serif,13" background "#ffffff" dashlength 0.6
set datafile separator ","
set grid linecolor "#dddddd"
set border 3
set tics nomirror
set key right bottom reverse Left samplen 3
set style line 1 linecolor "#2f7fe0" linewidth 2 pointtype 7 pointsize 0.6
set style line 2 linecolor "#d9660a" linewidth 2 pointtype 5 pointsize 0.6
set style line 5 linecolor "#808080" linewidth 2 dashtype 3

set output "rate_by_fill.svg"
set title "False-positive rate as a filter for 1,000,000 keys at 1 % fills"
set xlabel "keys added, in % of the capacity"
set ylabel "rate in %"
set logscale y
set xrange [0:200]
set yrange [1e-5:100]
set format y "%g"
filled(layout) = strcol(1) eq layout ? 100 * $2 : NaN
plot "rate_by_fill.csv" \
        using (filled("blocked")):(100 * $3) with points linestyle 1 title "blocked, measured", \
     "" using (filled("blocked")):(100 * $4) with lines linestyle 1 title "blocked, predicted", \
     "" using (filled("classic")):(100 * $3) with points linestyle 2 title "classic, measured", \
     "" using (filled("classic")):(100 * $4) with lines linestyle 2 title "classic, predicted", \
     1 with lines linestyle 5 title "asked for at 100 %"

# In a dark page the chart is dark. It is a card with its own background, because an image
# cannot know whether the page or the system chose the colours. It needs no title, as the page that
# shows it has one.
dark = "rect[fill=\"#ffffff\"]{fill:#1e2129}text{fill:#e6edf3}[color=black],[stroke=black]" \
    . "{color:#e6edf3;stroke:#e6edf3}[fill=\"rgb(221, 221, 221)\"]{fill:#30363d}" \
    . "[stroke=\"rgb(221, 221, 221)\"],.gridline{stroke:#30363d}"
unset output
system("sed -i -e 's|<title>Gnuplot</title>|<style>@media (prefers-color-scheme:dark){" . dark \
    . "}</style>|' rate_by_fill.svg")
