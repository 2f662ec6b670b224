.load ./bloom
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB NOT NULL);
INSERT INTO filters
  SELECT 'urlhaus.txt', bloom_agg(key, NULL, 0.001, 'key=url_nocase')
    FROM bloom_list(readfile('sql/data/urlhaus.txt'))
   WHERE key NOT NULL;

CREATE TABLE visits(url TEXT);
INSERT INTO visits VALUES
  ('HTTP://1.1.104.120/'),
  ('http://mail3.example:8080/item/5?id=360d5a3f&from=mail'),
  ('https://github.com:8443/lawrencesanity1108/gta-5-mod-menu-2024/releases/download/v1.0/software.zip#part'),
  ('http://github.com.other1.example/github.co'),
  ('27.37.115.150./'),
  ('https://www.news1.example:8080/item/4'),
  ('http://user:secret@img1.wsimg.com/x/./../blobby/go/a618ca0f-2608-47c2-ab22-bbc2ca127bb7/downloads/saziva.pdf'),
  ('http://blog2.example/item/4'),
  ('  	http://codeload.github.com/daneeltrevize/tabsat/legacy.tar.gz/refs/tags/0.9 '),
  ('https://www.mail3.example:8080/item/4'),
  ('https://139.255.123.227/'),
  ('https://www.shop0.example/Photos/3');
SELECT url FROM visits
 WHERE bloom_check((SELECT bloom_pin(f) FROM filters WHERE name = 'urlhaus.txt'), url);
